// Rules of ONNX's neural layers: convolutions, pooling, normalisation, recurrence. Data is
// N x C x spatial dimensions, as in the standard. Some operators of com.microsoft have the channels
// last instead.
#include <algorithm>
#include <cmath>

#include "doppler/formats/onnx/onnx_op.h"

namespace doppler::formats {
namespace {

std::int64_t at_or(const std::vector<std::int64_t>& list, std::size_t i, std::int64_t absent) {
  return i < list.size() ? list[i] : absent;
}

// Returns the number of positions of a window along a dimension of this size, which is the i-th of
// the spatial dimensions.
std::int64_t windowed(const OnnxOp& op, std::size_t i, std::size_t spatial, std::int64_t size,
                      std::int64_t kernel) {
  const double stride =
      static_cast<double>(std::max<std::int64_t>(at_or(op.integer_list("strides"), i, 1), 1));
  const double extent = static_cast<double>(at_or(op.integer_list("dilations"), i, 1)) *
                            (static_cast<double>(kernel) - 1.0) +
                        1.0;
  const std::string_view automatic = op.string("auto_pad", "NOTSET");
  const auto in = static_cast<double>(size);
  if (automatic.starts_with("SAME")) return static_cast<std::int64_t>(std::ceil(in / stride));
  const std::vector<std::int64_t>& pads = op.integer_list("pads");
  const double padding = automatic == "VALID"
                             ? 0.0
                             : static_cast<double>(at_or(pads, i, 0)) +
                                   static_cast<double>(at_or(pads, i + spatial, 0));
  const double steps = (in + padding - extent) / stride;
  const bool up = op.integer("ceil_mode", 0) != 0;
  // A window larger than its input, as when a sequence is assumed too short, still has one
  // position.
  return std::max<std::int64_t>(onnx_size((up ? std::ceil(steps) : std::floor(steps)) + 1.0),
                                size > 0 ? 1 : 0);
}

enum class Channels { kSecond, kLast };

// Returns the number of channels of data. REQUIRES: it has two dimensions or more.
std::int64_t& channels_of(OnnxShape& data, Channels channels) {
  return channels == Channels::kLast ? data.back() : data[1];
}
std::size_t first_spatial(Channels channels) {
  return channels == Channels::kLast ? 1 : 2;
}

// Returns whether weights have their input channels last, behind the spatial sizes. If the data has
// its channels last, there are models of both kinds, which the attribute kernel_shape tells apart.
bool weights_end_with_channels(const OnnxOp& op, const OnnxShape& w, Channels data) {
  if (data == Channels::kSecond) return false;
  const std::vector<std::int64_t>& kernel = op.integer_list("kernel_shape");
  return !std::equal(kernel.begin(), kernel.end(), w.begin() + 2, w.end());
}

double groups_of(const OnnxOp& op) {
  return as_double(std::max<std::int64_t>(op.integer("group", 1), 1));
}

void convolve(OnnxOp& op, std::size_t weights, OnnxType type, Channels channels) {
  const OnnxShape *x = op.shape(0), *w = op.shape(weights);
  if (x == nullptr || w == nullptr || x->size() < 2 || w->size() != x->size()) return;
  const std::size_t spatial = x->size() - 2;
  const bool ends_with_channels = weights_end_with_channels(op, *w, channels);
  OnnxShape out = *x;
  channels_of(out, channels) = w->front();
  double window = 1.0;
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t kernel = (*w)[i + (ends_with_channels ? 1 : 2)];
    std::int64_t& size = out[i + first_spatial(channels)];
    size = windowed(op, i, spatial, size, kernel);
    window *= static_cast<double>(kernel);
  }
  // Of the input channels, weights have only those of one group.
  const auto inputs = static_cast<double>(ends_with_channels ? w->back() : (*w)[1]);
  op.flops = 2.0 * onnx_elements(out) * window * inputs;
  const double channels_out = as_double(w->front()), groups = groups_of(op);
  op.works = {convolution_of(groups, onnx_elements(out) / std::max(channels_out, 1.0),
                             channels_out / groups, window * inputs)};
  op.set(0, type, std::move(out));
}
void conv(OnnxOp& op) {
  convolve(op, 1, op.input(0).type, Channels::kSecond);
}
void nhwc_conv(OnnxOp& op) {
  convolve(op, 1, op.input(0).type, Channels::kLast);
}
void conv_integer(OnnxOp& op) {
  op.computes_in = ElementType::kI8;
  convolve(op, 1, OnnxType::kInt32, Channels::kSecond);
}
// Returns the position of channels by an attribute that only operators of com.microsoft have.
Channels channels_attribute(const OnnxOp& op) {
  return op.integer("channels_last", 0) != 0 ? Channels::kLast : Channels::kSecond;
}
void qlinear_conv(OnnxOp& op) {
  convolve(op, 3, op.has_input(7) ? op.input(7).type : op.input(0).type, channels_attribute(op));
}

void conv_transpose(OnnxOp& op) {
  const OnnxShape *x = op.shape(0), *w = op.shape(1);
  if (x == nullptr || w == nullptr || x->size() < 2 || w->size() != x->size()) return;
  const std::size_t spatial = x->size() - 2;
  const std::vector<std::int64_t>& given = op.integer_list("output_shape");
  const std::vector<std::int64_t>&strides = op.integer_list("strides"),
        &pads = op.integer_list("pads");
  OnnxShape out{(*x)[0], onnx_size(static_cast<double>((*w)[1]) *
                                   static_cast<double>(op.integer("group", 1)))};
  double window = 1.0;
  for (std::size_t i = 0; i < spatial; ++i) {
    const auto kernel = static_cast<double>((*w)[i + 2]);
    const auto stride = static_cast<double>(at_or(strides, i, 1));
    const auto in = static_cast<double>((*x)[i + 2]);
    double size = (in - 1.0) * stride +
                  static_cast<double>(at_or(op.integer_list("dilations"), i, 1)) * (kernel - 1.0) +
                  1.0 + static_cast<double>(at_or(op.integer_list("output_padding"), i, 0)) -
                  static_cast<double>(at_or(pads, i, 0)) -
                  static_cast<double>(at_or(pads, i + spatial, 0));
    if (op.string("auto_pad").starts_with("SAME")) size = in * stride;
    if (!given.empty()) size = static_cast<double>(at_or(given, given.size() - spatial + i, 1));
    out.push_back(onnx_size(size));
    window *= kernel;
  }
  op.flops = 2.0 * onnx_elements(*x) * window * static_cast<double>((*w)[1]);
  // Every pixel of the operand gives a window of the result.
  const double channels = as_double((*x)[1]), groups = groups_of(op);
  op.works = {convolution_of(groups, onnx_elements(*x) / std::max(channels, 1.0),
                             window * as_double((*w)[1]), channels / groups)};
  op.set(0, op.input(0).type, std::move(out));
}

void pool_windows(OnnxOp& op, Channels channels) {
  const OnnxShape* x = op.shape(0);
  const std::vector<std::int64_t>& kernel = op.integer_list("kernel_shape");
  if (x == nullptr || x->size() < 2) return;
  OnnxShape out = *x;
  double window = 1.0;
  for (std::size_t i = 0; i + 2 < x->size(); ++i) {
    std::int64_t& size = out[i + first_spatial(channels)];
    size = windowed(op, i, x->size() - 2, size, at_or(kernel, i, 1));
    window *= static_cast<double>(std::max<std::int64_t>(at_or(kernel, i, 1), 1));
  }
  op.flops = onnx_elements(out) * window;
  op.works = {kernel::row_work(kernel::WorkClass::kReduction, onnx_elements(out), window)};
  op.set(1, OnnxType::kInt64, out);
  op.set(0, op.input(0).type, std::move(out));
}
void pool(OnnxOp& op) {
  pool_windows(op, channels_attribute(op));
}
void nhwc_pool(OnnxOp& op) {
  pool_windows(op, Channels::kLast);
}

void global_pool(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr || x->size() < 2) return;
  const Channels channels = channels_attribute(op);
  OnnxShape out = *x;
  for (std::size_t i = 0; i + 2 < x->size(); ++i) out[i + first_spatial(channels)] = 1;
  op.flops = onnx_elements(*x);
  op.works = {kernel::row_work(kernel::WorkClass::kReduction, onnx_elements(out),
                               onnx_elements(*x) / std::max(onnx_elements(out), 1.0))};
  op.set(0, op.input(0).type, std::move(out));
}

void max_unpool(OnnxOp& op) {
  op.works = {{.work_class = kernel::WorkClass::kGather}};
  op.set_like(0, 0);
  if (const auto given = op.integers(2)) {
    op.set(0, op.input(0).type, *given);
    return;
  }
  const OnnxShape* x = op.shape(0);
  if (x == nullptr) return;
  OnnxShape out = *x;
  for (std::size_t i = 2; i < out.size(); ++i) {
    const auto stride = static_cast<double>(at_or(op.integer_list("strides"), i - 2, 1));
    const auto kernel = static_cast<double>(at_or(op.integer_list("kernel_shape"), i - 2, 1));
    out[i] = onnx_size((static_cast<double>(out[i]) - 1.0) * stride + kernel);
  }
  op.set(0, op.input(0).type, std::move(out));
}

void batch_norm(OnnxOp& op) {
  op.set_like(0, 0);
  for (std::size_t i = 1; i < op.outputs.size(); ++i)
    op.set_like(i, std::min<std::size_t>(i + 2, 4));
  op.flops = 2.0 * op.input(0).elements();
  // At inference the statistics are given, so that it is one multiplication and one addition.
  if (op.integer("training_mode", 0) == 0) {
    op.works = {{.work_class = kernel::WorkClass::kElementwise}};
  }
}

// Returns the number of parts of x that are normalised each by itself; nothing if they overlap or
// their number is not known.
std::optional<double> norm_rows(const OnnxOp& op, const OnnxShape& x) {
  const std::string_view name = op.node().op;
  if (name == "LRN" || x.empty()) return std::nullopt;
  const auto leading = [&](std::size_t count) {
    const std::size_t end = std::min(count, x.size());
    return onnx_elements(OnnxShape(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(end)));
  };
  if (name == "InstanceNormalization") return leading(2);
  if (name == "GroupNormalization") return leading(1) * as_double(op.integer("num_groups", 1));
  if (name == "GroupNorm" || name == "SkipGroupNorm")
    return leading(1) * as_double(op.integer("groups", 1));
  if (name == "MeanVarianceNormalization") {
    std::vector<std::int64_t> axes = op.integer_list("axes");
    if (axes.empty()) axes = {0, 2, 3};
    OnnxShape rest = x;
    for (const std::int64_t axis : axes) {
      if (const auto at = onnx_axis(axis, x.size())) rest[*at] = 1;
    }
    return onnx_elements(rest);
  }
  const auto axis = onnx_axis(op.integer("axis", -1), x.size());
  if (!axis) return std::nullopt;
  if (name == "LpNormalization") return onnx_elements(x) / std::max(as_double(x[*axis]), 1.0);
  return leading(*axis);
}

void add_norm(OnnxOp& op, const OnnxShape& x) {
  if (const auto rows = norm_rows(op, x)) {
    op.works = {
        kernel::row_work(kernel::WorkClass::kNorm, *rows, onnx_elements(x) / std::max(*rows, 1.0))};
  }
}

// The mean and the inverse deviation are optional outputs.
template <int kFlops>
void norm(OnnxOp& op) {
  op.set_like(0, 0);
  const OnnxShape* x = op.shape(0);
  if (x == nullptr) return;
  OnnxShape statistics = *x;
  const auto axis = onnx_axis(op.integer("axis", -1), x->size());
  for (std::size_t i = axis.value_or(0); i < statistics.size(); ++i) statistics[i] = 1;
  op.set(1, OnnxType::kFloat, statistics);
  op.set(2, OnnxType::kFloat, statistics);
  op.flops = kFlops * onnx_elements(*x);
  add_norm(op, *x);
}

// An operator of com.microsoft that normalises the sum of two inputs. The sum is the fourth output.
void skip_norm(OnnxOp& op) {
  norm<10>(op);
  op.set_like(3, 0);
}

// An operator of com.microsoft that does this for groups of channels. The sum is the second output.
void skip_group_norm(OnnxOp& op) {
  op.set_like(0, 0);
  op.set_like(1, 0);
  op.flops = 10.0 * op.input(0).elements();
  if (op.shape(0) != nullptr) add_norm(op, *op.shape(0));
}

void embed_norm(OnnxOp& op) {
  const OnnxShape *ids = op.shape(0), *words = op.shape(2);
  if (ids == nullptr || words == nullptr || words->empty()) return;
  OnnxShape out = *ids;
  out.push_back(words->back());
  op.flops = 10.0 * onnx_elements(out);
  op.works = {
      kernel::row_work(kernel::WorkClass::kNorm, onnx_elements(*ids), as_double(words->back()))};
  op.bytes_read = 3.0 * onnx_elements(out) * onnx_type_bytes(op.input(2).type);
  op.set(1, OnnxType::kInt32, {ids->empty() ? 1 : (*ids)[0]});
  op.set(0, op.input(2).type, out);
  op.set(2, op.input(2).type, out);
}

// Adds the works of a recurrent layer: a product that projects the inputs of all steps, and then
// step by step, in each direction, one of the state. The weights of directions are the batch of the
// first.
void add_steps(OnnxOp& op, double length, double batch) {
  const bool quantised = op.node().op == "DynamicQuantizeLSTM";  // its weights are transposed
  if (quantised) op.computes_in = ElementType::kI8;
  const std::size_t gates_at = quantised ? 2 : 1, depth_at = quantised ? 1 : 2;
  const OnnxShape *w = op.shape(1), &r = *op.shape(2);
  const double ways = as_double(r[0]), gates = as_double(r[gates_at]),
               hidden = as_double(r[depth_at]), bytes = onnx_type_bytes(op.input(0).type);
  const double projected = batch * gates * bytes;  // bytes of one step and direction
  if (w != nullptr && w->size() == 3) {
    op.works.push_back(
        product_of(ways, length * batch, as_double((*w)[gates_at]), as_double((*w)[depth_at])));
    op.works.back().bytes_read = op.input(0).bytes() + op.input(1).bytes();
    op.works.back().bytes_written = projected * length * ways;
  }
  kernel::Work step = product_of(1.0, batch, gates, hidden);
  step.work_class = kernel::WorkClass::kRecurrence;
  step.count = length * ways;
  step.bytes_read = op.input(2).bytes() / std::max(ways, 1.0) + projected + batch * hidden * bytes;
  step.bytes_written = batch * hidden * bytes;
  op.works.push_back(step);
}

// LSTM, GRU and RNN, where X is [sequence, batch, input] and W [directions, gates * hidden, input].
void recurrent(OnnxOp& op) {
  const OnnxShape *x = op.shape(0), *w = op.shape(1), *r = op.shape(2);
  if (x == nullptr || r == nullptr || x->size() != 3 || r->size() != 3) return;
  const bool batch_first = op.integer("layout", 0) != 0;
  const std::int64_t length = (*x)[batch_first ? 1 : 0], batch = (*x)[batch_first ? 0 : 1];
  const std::int64_t ways = (*r)[0], hidden = op.integer("hidden_size", (*r)[2]);
  const double weights = onnx_elements(*r) + (w != nullptr ? onnx_elements(*w) : 0.0);
  op.flops = 2.0 * weights * static_cast<double>(length) * static_cast<double>(batch);
  add_steps(op, as_double(length), as_double(batch));
  const OnnxType type = op.input(0).type;
  op.set(0, type,
         batch_first ? OnnxShape{batch, length, ways, hidden}
                     : OnnxShape{length, ways, batch, hidden});
  for (std::size_t i = 1; i < op.outputs.size(); ++i) {
    op.set(i, type, batch_first ? OnnxShape{batch, ways, hidden} : OnnxShape{ways, batch, hidden});
  }
}

void resize(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr) return;
  op.set_like(0, 0);
  // In Upsample and the oldest Resize, the scales are the second input or an attribute.
  const bool old = op.node().op == "Upsample" || op.input_count() == 2;
  const std::size_t scales_at = old ? 1 : 2;
  OnnxShape out = *x;
  const std::vector<std::int64_t>& axes = op.integer_list("axes");
  const auto target = [&](std::size_t i) -> std::int64_t* {
    const auto axis = i < axes.size()  ? onnx_axis(axes[i], out.size())
                      : i < out.size() ? std::optional(i)
                                       : std::nullopt;
    return axis ? &out[*axis] : nullptr;
  };
  std::vector<double> scales;
  if (op.has_input(scales_at) && op.input(scales_at).data) scales = *op.input(scales_at).data;
  if (const OnnxAttribute* attribute = op.find("scales")) scales = attribute->numbers;
  if (const auto sizes = op.integers(3); sizes && !sizes->empty()) {
    for (std::size_t i = 0; i < sizes->size(); ++i) {
      if (std::int64_t* size = target(i)) *size = (*sizes)[i];
    }
  } else if (!scales.empty()) {
    for (std::size_t i = 0; i < scales.size(); ++i) {
      if (std::int64_t* size = target(i)) {
        *size = onnx_size(std::floor(static_cast<double>(*size) * scales[i]));
      }
    }
  } else {
    op.outputs.at(0).shape.reset();
    return;
  }
  op.flops = 8.0 * onnx_elements(out);
  op.set(0, op.input(0).type, std::move(out));
}

constexpr OnnxRuleEntry kOnnxLayerRules[] = {{"Conv", conv},
                                             {"FusedConv", conv},
                                             {"DeformConv", conv},
                                             {"NhwcConv", nhwc_conv},
                                             {"NhwcFusedConv", nhwc_conv},
                                             {"ConvInteger", conv_integer},
                                             {"QLinearConv", qlinear_conv},
                                             {"ConvTranspose", conv_transpose},
                                             {"MaxPool", pool},
                                             {"AveragePool", pool},
                                             {"LpPool", pool},
                                             {"NhwcMaxPool", nhwc_pool},
                                             {"QLinearAveragePool", pool},
                                             {"GlobalAveragePool", global_pool},
                                             {"GlobalMaxPool", global_pool},
                                             {"GlobalLpPool", global_pool},
                                             {"QLinearGlobalAveragePool", global_pool},
                                             {"MaxUnpool", max_unpool},
                                             {"BatchNormalization", batch_norm},
                                             {"InstanceNormalization", norm<8>},
                                             {"LayerNormalization", norm<8>},
                                             {"GroupNormalization", norm<8>},
                                             {"GroupNorm", norm<8>},
                                             {"RMSNormalization", norm<4>},
                                             {"SimplifiedLayerNormalization", norm<4>},
                                             {"MeanVarianceNormalization", norm<8>},
                                             {"LpNormalization", norm<4>},
                                             {"LRN", norm<8>},
                                             {"SkipLayerNormalization", skip_norm},
                                             {"SkipSimplifiedLayerNormalization", skip_norm},
                                             {"SkipGroupNorm", skip_group_norm},
                                             {"EmbedLayerNormalization", embed_norm},
                                             {"LSTM", recurrent},
                                             {"GRU", recurrent},
                                             {"RNN", recurrent},
                                             {"DynamicQuantizeLSTM", recurrent},
                                             {"Resize", resize},
                                             {"Upsample", resize},
                                             {{}, nullptr}};

}  // namespace

const OnnxRuleEntry* onnx_layer_rules() {
  return kOnnxLayerRules;
}

}  // namespace doppler::formats
