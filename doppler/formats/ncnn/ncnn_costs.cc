#include "doppler/formats/ncnn/ncnn_rules.h"

namespace doppler::formats::ncnn_costs {

NcnnCost convolution(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out) {
  const double weights = std::max(layer.params.number(6, 0.0), 0.0);
  const double channels = std::max(layer.params.number(0, 1.0), 1.0);
  if (layer.params.integer(19, 0) != 0 && in.size() > 1) {  // the weights are the second input
    return {2.0 * in[1].elements() * out[0].elements() / channels};
  }
  const bool bias = layer.params.integer(5, 0) != 0;
  // Every weight is used once for each position in the output.
  return {2.0 * weights * out[0].elements() / channels, weights + (bias ? channels : 0.0)};
}

NcnnCost deconvolution(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs) {
  const double weights = std::max(layer.params.number(6, 0.0), 0.0);
  const double channels = std::max(layer.params.number(0, 1.0), 1.0);
  const bool bias = layer.params.integer(5, 0) != 0;
  const double places =
      in[0].elements() / std::max(static_cast<double>(in[0].rank == 2 ? in[0].h : in[0].c), 1.0);
  return {2.0 * weights * places, weights + (bias ? channels : 0.0)};
}

NcnnCost pooling(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out) {
  const NcnnParams& p = layer.params;
  if (p.integer(4, 0) != 0 || p.integer(7, 0) != 0) return {in[0].elements()};
  const double w = std::max(p.number(1, 1.0), 1.0);
  return {out[0].elements() * w * (out[0].rank >= 3 ? std::max(p.number(11, w), 1.0) : 1.0)};
}

NcnnCost inner_product(const NcnnLayer& layer, NcnnInputs, NcnnOutputs out) {
  const double weights = std::max(layer.params.number(2, 0.0), 0.0);
  const double channels = std::max(layer.params.number(0, 1.0), 1.0);
  const bool bias = layer.params.integer(1, 0) != 0;
  return {2.0 * weights * out[0].elements() / channels, weights + (bias ? channels : 0.0)};
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
  return {2.0 * m * n * k, weights};
}

NcnnCost mat_mul(const NcnnLayer&, NcnnInputs in, NcnnOutputs out) {
  return {2.0 * out[0].elements() * static_cast<double>(in[0].w)};
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
  return {projections + 4.0 * queries * keys * width, 2.0 * square + keys_and_values + 4.0 * width};
}

NcnnCost recurrent(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs) {
  const double hidden = std::max(layer.params.number(0, 1.0), 0.0);
  const double input_weights = std::max(layer.params.number(1, 0.0), 0.0);
  const double ways = layer.params.integer(2, 0) == 2 ? 2.0 : 1.0;
  const double gates = layer.type == "LSTM" ? 4.0 : layer.type == "GRU" ? 3.0 : 1.0;
  const double weights = input_weights + gates * hidden * hidden * ways;
  return {2.0 * weights * static_cast<double>(in[0].h), weights + gates * hidden * ways};
}

NcnnCost embed(const NcnnLayer& layer, NcnnInputs, NcnnOutputs) {
  return {0.0, std::max(layer.params.number(3, 0.0), 0.0)};
}

NcnnCost copy(const NcnnLayer&, NcnnInputs, NcnnOutputs) {
  return {};
}

}  // namespace doppler::formats::ncnn_costs
