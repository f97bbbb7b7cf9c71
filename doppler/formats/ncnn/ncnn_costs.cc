#include "doppler/formats/ncnn/ncnn_rules.h"

namespace doppler::formats {
namespace {

double groups_of(const NcnnLayer& layer) {
  const bool grouped = layer.type.find("DepthWise") != layer.type.npos;
  return grouped ? std::max(layer.params.number(7, 1.0), 1.0) : 1.0;
}

// Returns the bytes that a product with trained weights moves, blobs in single precision.
kernel::Work with_bytes(kernel::Work product, const NcnnLayer& layer) {
  product.bytes_read =
      4.0 * product.batch * product.rows * product.depth +
      product.batch * product.depth * product.columns * ncnn_weight_bits(layer) / 8.0;
  product.bytes_written = 4.0 * product.batch * product.rows * product.columns;
  return product;
}

}  // namespace

kernel::Work ncnn_work_on_rows(const NcnnLayer& layer, NcnnShape in, const NcnnShape& out) {
  using kernel::WorkClass;
  const NcnnParams& p = layer.params;
  const double elements = in.elements();
  const auto of_rows = [&](WorkClass work_class, double rows) {
    return kernel::row_work(work_class, rows, elements / std::max(rows, 1.0));
  };
  const auto along = [&](WorkClass work_class, std::int64_t axis) {
    const std::int64_t* columns = in.axis(axis);
    return columns == nullptr || *columns < 1
               ? kernel::Work{}
               : of_rows(work_class, elements / static_cast<double>(*columns));
  };
  if (layer.type == "LayerNorm" || layer.type == "RMSNorm")
    return of_rows(WorkClass::kNorm, elements / std::max(p.number(0, 1.0), 1.0));
  if (layer.type == "GroupNorm") return of_rows(WorkClass::kNorm, p.number(0, 1.0));
  if (layer.type == "InstanceNorm" || (layer.type == "MVN" && p.integer(1, 0) == 0))
    return of_rows(WorkClass::kNorm, static_cast<double>(in.c));
  if (layer.type == "MVN") return of_rows(WorkClass::kNorm, 1.0);
  // At inference the statistics are given, so that it is one multiplication and one addition.
  if (layer.type == "BatchNorm") return {.work_class = WorkClass::kElementwise};
  if (layer.type == "Softmax") return along(WorkClass::kSoftmax, p.integer(0, 0));
  if (layer.type == "CumulativeSum") return along(WorkClass::kReduction, p.integer(0, 0));
  if (layer.type == "Reduction") return of_rows(WorkClass::kReduction, out.elements());
  return {};
}

namespace ncnn_costs {

NcnnCost convolution(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out) {
  const double weights = std::max(layer.params.number(6, 0.0), 0.0);
  const double channels = std::max(layer.params.number(0, 1.0), 1.0);
  if (layer.params.integer(19, 0) != 0 && in.size() > 1) {  // the weights are the second input
    NcnnCost cost{2.0 * in[1].elements() * out[0].elements() / channels};
    cost.works = {convolution_of(groups_of(layer), out[0].elements() / channels,
                                 channels / groups_of(layer), in[1].elements() / channels)};
    return cost;
  }
  const bool bias = layer.params.integer(5, 0) != 0;
  // Every weight is used once for each position in the output.
  NcnnCost cost{2.0 * weights * out[0].elements() / channels, weights + (bias ? channels : 0.0)};
  cost.works = {convolution_of(groups_of(layer), out[0].elements() / channels,
                               channels / groups_of(layer), weights / channels)};
  return cost;
}

NcnnCost deconvolution(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs) {
  const double weights = std::max(layer.params.number(6, 0.0), 0.0);
  const double channels = std::max(layer.params.number(0, 1.0), 1.0);
  const bool bias = layer.params.integer(5, 0) != 0;
  const double inputs = std::max(static_cast<double>(in[0].rank == 2 ? in[0].h : in[0].c), 1.0);
  const double places = in[0].elements() / inputs;
  NcnnCost cost{2.0 * weights * places, weights + (bias ? channels : 0.0)};
  // Every pixel of the input gives a window of the result.
  cost.works = {
      convolution_of(groups_of(layer), places, weights / inputs, inputs / groups_of(layer))};
  return cost;
}

NcnnCost pooling(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out) {
  const NcnnParams& p = layer.params;
  const double results = out[0].elements(), w = std::max(p.number(1, 1.0), 1.0);
  const bool all = p.integer(4, 0) != 0 || p.integer(7, 0) != 0;
  NcnnCost cost{all ? in[0].elements()
                    : results * w * (out[0].rank >= 3 ? std::max(p.number(11, w), 1.0) : 1.0)};
  cost.works = {kernel::row_work(kernel::WorkClass::kReduction, results,
                                 cost.flops / std::max(results, 1.0))};
  return cost;
}

NcnnCost inner_product(const NcnnLayer& layer, NcnnInputs, NcnnOutputs out) {
  const double weights = std::max(layer.params.number(2, 0.0), 0.0);
  const double channels = std::max(layer.params.number(0, 1.0), 1.0);
  const bool bias = layer.params.integer(1, 0) != 0;
  NcnnCost cost{2.0 * weights * out[0].elements() / channels, weights + (bias ? channels : 0.0)};
  cost.works = {product_of(1.0, out[0].elements() / channels, channels, weights / channels)};
  return cost;
}

NcnnCost gemm(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs) {
  const NcnnParams& p = layer.params;
  const NcnnProduct sizes = ncnn_gemm_sizes(p, in);
  const auto m = static_cast<double>(sizes.m), n = static_cast<double>(sizes.n),
             k = static_cast<double>(sizes.k);
  double weights = 0.0;
  if (p.integer(4, 0) != 0) weights += m * k;
  if (p.integer(5, 0) != 0) weights += n * k;
  if (p.integer(6, 0) != 0) {
    const std::int64_t shape_of_c = p.integer(10, 0);
    if (shape_of_c == 0) weights += 1.0;
    if (shape_of_c == 1 || shape_of_c == 2) weights += m;
    if (shape_of_c == 3) weights += m * n;
    if (shape_of_c == 4) weights += n;
  }
  NcnnCost cost{2.0 * m * n * k, weights};
  cost.works = {product_of(1.0, m, n, k)};
  return cost;
}

NcnnCost mat_mul(const NcnnLayer&, NcnnInputs in, NcnnOutputs out) {
  NcnnCost cost{2.0 * out[0].elements() * static_cast<double>(in[0].w)};
  // One second matrix for all of the first is a single product with all their rows.
  const auto columns = static_cast<double>(out[0].w);
  const bool one = in.size() < 2 || in[1].c * in[1].d == 1;
  const double batch = one ? 1.0 : static_cast<double>(out[0].c) * static_cast<double>(out[0].d);
  cost.works = {product_of(batch, out[0].elements() / std::max(columns * batch, 1.0), columns,
                           static_cast<double>(in[0].w))};
  return cost;
}

// Returns the flops of both products of attention: queries by keys, and scores by values.
NcnnCost attention(const NcnnLayer&, NcnnInputs in, NcnnOutputs out) {
  if (in.size() < 3) return {};
  const double keys = static_cast<double>(out.size() >= 2 ? out[1].h : in[1].h);
  return {2.0 * keys * (in[0].elements() + out[0].elements())};
}

NcnnCost multi_head_attention(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out) {
  const NcnnParams& p = layer.params;
  const double width = p.number(0, 1.0), square = std::max(p.number(2, 0.0), 0.0);
  const double keys = static_cast<double>(in.size() > 1 ? in[1].h : in[0].h);
  const auto queries = static_cast<double>(out[0].h);
  const double keys_and_values = width * (p.number(3, width) + p.number(4, width));
  const double projections = 2.0 * (2.0 * square * queries + keys_and_values * keys);
  NcnnCost cost{projections + 4.0 * queries * keys * width,
                2.0 * square + keys_and_values + 4.0 * width};
  // Projections of queries, keys and values, the attention itself, and the projection of its
  // result.
  const double size_of_queries = square / std::max(width, 1.0);
  kernel::Work core{.work_class = kernel::WorkClass::kAttention,
                    .flops = 4.0 * queries * keys * width,
                    .bytes_read = 4.0 * width * (queries + 2.0 * keys),
                    .bytes_written = 4.0 * width * queries};
  cost.works = {with_bytes(product_of(1.0, queries, width, size_of_queries), layer),
                with_bytes(product_of(1.0, keys, width, p.number(3, width)), layer),
                with_bytes(product_of(1.0, keys, width, p.number(4, width)), layer), core,
                with_bytes(product_of(1.0, queries, size_of_queries, width), layer)};
  return cost;
}

NcnnCost recurrent(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs) {
  const double hidden = std::max(layer.params.number(0, 1.0), 0.0);
  const double input_weights = std::max(layer.params.number(1, 0.0), 0.0);
  const double ways = layer.params.integer(2, 0) == 2 ? 2.0 : 1.0;
  const double gates = layer.type == "LSTM" ? 4.0 : layer.type == "GRU" ? 3.0 : 1.0;
  const double weights = input_weights + gates * hidden * hidden * ways;
  const auto steps = static_cast<double>(in[0].h);
  NcnnCost cost{2.0 * weights * steps, weights + gates * hidden * ways};
  // One product projects the inputs of all steps; then each step has one of the state.
  const double columns = gates * hidden;
  kernel::Work step = with_bytes(product_of(1.0, 1.0, columns, hidden), layer);
  step.work_class = kernel::WorkClass::kRecurrence;
  step.count = steps * ways;
  cost.works = {
      with_bytes(product_of(ways, steps, columns, input_weights / std::max(columns * ways, 1.0)),
                 layer),
      step};
  return cost;
}

NcnnCost embed(const NcnnLayer& layer, NcnnInputs, NcnnOutputs) {
  return {0.0, std::max(layer.params.number(3, 0.0), 0.0)};
}

NcnnCost copy(const NcnnLayer&, NcnnInputs, NcnnOutputs) {
  return {};
}

}  // namespace ncnn_costs
}  // namespace doppler::formats
