#include "doppler/formats/ncnn/ncnn_layers.h"

#include <algorithm>
#include <string_view>

#include "doppler/formats/model_graph.h"
#include "doppler/formats/ncnn/ncnn_rules.h"

namespace doppler::formats {
namespace {

struct LayerRule {
  std::string_view type;
  NcnnKind kind;
  // Null if all outputs have the shape of the first input.
  std::vector<NcnnShape> (*shapes)(const NcnnLayer&, NcnnInputs);
  NcnnCost (*cost)(const NcnnLayer&, NcnnInputs, NcnnOutputs);
};

constexpr auto kCompute = NcnnKind::kCompute;
constexpr auto kView = NcnnKind::kView;

// The table of layer types. Operations per element are counted as in the layer's written formula.
constexpr LayerRule kNcnnRules[] = {
    {"Input", NcnnKind::kInput, nullptr, ncnn_costs::copy},
    {"MemoryData", NcnnKind::kMemory, nullptr, ncnn_costs::copy},
    {"Split", kView, nullptr, ncnn_costs::copy},
    {"Noop", kView, nullptr, ncnn_costs::copy},
    {"Dropout", kView, nullptr, ncnn_costs::copy},
    {"Flatten", kView, ncnn_shapes::flatten, ncnn_costs::copy},
    {"Reshape", kView, ncnn_shapes::reshape, ncnn_costs::copy},
    {"ExpandDims", kView, ncnn_shapes::expand_dims, ncnn_costs::copy},
    {"Squeeze", kView, ncnn_shapes::squeeze, ncnn_costs::copy},
    {"Convolution", kCompute, ncnn_shapes::convolution, ncnn_costs::convolution},
    {"ConvolutionDepthWise", kCompute, ncnn_shapes::convolution, ncnn_costs::convolution},
    {"Convolution1D", kCompute, ncnn_shapes::convolution, ncnn_costs::convolution},
    {"ConvolutionDepthWise1D", kCompute, ncnn_shapes::convolution, ncnn_costs::convolution},
    {"Convolution3D", kCompute, ncnn_shapes::convolution, ncnn_costs::convolution},
    {"ConvolutionDepthWise3D", kCompute, ncnn_shapes::convolution, ncnn_costs::convolution},
    {"DeformableConv2D", kCompute, ncnn_shapes::convolution, ncnn_costs::convolution},
    {"Deconvolution", kCompute, ncnn_shapes::deconvolution, ncnn_costs::deconvolution},
    {"DeconvolutionDepthWise", kCompute, ncnn_shapes::deconvolution, ncnn_costs::deconvolution},
    {"Deconvolution1D", kCompute, ncnn_shapes::deconvolution, ncnn_costs::deconvolution},
    {"DeconvolutionDepthWise1D", kCompute, ncnn_shapes::deconvolution, ncnn_costs::deconvolution},
    {"Deconvolution3D", kCompute, ncnn_shapes::deconvolution, ncnn_costs::deconvolution},
    {"DeconvolutionDepthWise3D", kCompute, ncnn_shapes::deconvolution, ncnn_costs::deconvolution},
    {"InnerProduct", kCompute, ncnn_shapes::inner_product, ncnn_costs::inner_product},
    {"Gemm", kCompute, ncnn_shapes::gemm, ncnn_costs::gemm},
    {"MatMul", kCompute, ncnn_shapes::mat_mul, ncnn_costs::mat_mul},
    {"SDPA", kCompute, ncnn_shapes::attention, ncnn_costs::attention},
    {"MultiHeadAttention", kCompute, ncnn_shapes::multi_head_attention,
     ncnn_costs::multi_head_attention},
    {"LSTM", kCompute, ncnn_shapes::recurrent, ncnn_costs::recurrent},
    {"GRU", kCompute, ncnn_shapes::recurrent, ncnn_costs::recurrent},
    {"RNN", kCompute, ncnn_shapes::recurrent, ncnn_costs::recurrent},
    {"Einsum", kCompute, ncnn_shapes::einsum, ncnn_costs::einsum},
    {"ShortConv", kCompute, ncnn_shapes::short_convolution, ncnn_costs::short_convolution},
    {"GatedDeltaRule", kCompute, ncnn_shapes::gated_delta_rule, ncnn_costs::gated_delta_rule},
    {"Embed", kCompute, ncnn_shapes::embed, ncnn_costs::embed},
    {"Pooling", kCompute, ncnn_shapes::pooling, ncnn_costs::pooling},
    {"Pooling1D", kCompute, ncnn_shapes::pooling, ncnn_costs::pooling},
    {"Pooling3D", kCompute, ncnn_shapes::pooling, ncnn_costs::pooling},
    {"Concat", kCompute, ncnn_shapes::concat, ncnn_costs::copy},
    {"Slice", kCompute, ncnn_shapes::slice, ncnn_costs::copy},
    {"Crop", kCompute, ncnn_shapes::crop, ncnn_costs::copy},
    {"Permute", kCompute, ncnn_shapes::permute, ncnn_costs::copy},
    {"Tile", kCompute, ncnn_shapes::tile, ncnn_costs::copy},
    {"Padding", kCompute, ncnn_shapes::padding, ncnn_costs::copy},
    {"PixelShuffle", kCompute, ncnn_shapes::pixel_shuffle, ncnn_costs::copy},
    {"Reorg", kCompute, ncnn_shapes::reorg, ncnn_costs::copy},
    {"YoloV5Focus", kCompute, ncnn_shapes::reorg,
     ncnn_costs::copy},  // common, though not part of ncnn
    {"ShuffleChannel", kCompute, nullptr, ncnn_costs::copy},
    {"Flip", kCompute, nullptr, ncnn_costs::copy},
    {"CopyTo", kCompute, nullptr, ncnn_costs::copy},
    {"Unfold", kCompute, ncnn_shapes::unfold, ncnn_costs::copy},
    {"GridSample", kCompute, ncnn_shapes::grid_sample, ncnn_costs::elementwise<8>},
    {"ROIPooling", kCompute, ncnn_shapes::roi_pooling, ncnn_costs::elementwise<1>},
    {"ROIAlign", kCompute, ncnn_shapes::roi_pooling, ncnn_costs::elementwise<8>},
    {"Spectrogram", kCompute, ncnn_shapes::spectrogram, ncnn_costs::spectrogram},
    {"Interp", kCompute, ncnn_shapes::interp, ncnn_costs::elementwise<8>},
    {"Reduction", kCompute, ncnn_shapes::reduction, ncnn_costs::elementwise<1>},
    {"ArgMax", kCompute, ncnn_shapes::arg_max, ncnn_costs::elementwise<1>},
    {"BinaryOp", kCompute, ncnn_shapes::broadcast, ncnn_costs::elementwise<1>},
    {"Eltwise", kCompute, ncnn_shapes::broadcast, ncnn_costs::elementwise<1>},
    {"UnaryOp", kCompute, nullptr, ncnn_costs::elementwise<1>},
    {"AbsVal", kCompute, nullptr, ncnn_costs::elementwise<1>},
    {"Bias", kCompute, nullptr, ncnn_costs::elementwise<1, 0>},
    {"Scale", kCompute, nullptr, ncnn_costs::elementwise<2, 0>},
    {"BatchNorm", kCompute, nullptr, ncnn_costs::elementwise<2, 0, 4>},
    {"LayerNorm", kCompute, nullptr, ncnn_costs::elementwise<8, 0, 2>},
    {"RMSNorm", kCompute, nullptr, ncnn_costs::elementwise<4, 0>},
    {"GroupNorm", kCompute, nullptr, ncnn_costs::elementwise<8, 1, 2>},
    {"InstanceNorm", kCompute, nullptr, ncnn_costs::elementwise<8, 0, 2>},
    {"MVN", kCompute, nullptr, ncnn_costs::elementwise<8>},
    {"Normalize", kCompute, nullptr, ncnn_costs::elementwise<4, 3>},
    {"LRN", kCompute, nullptr, ncnn_costs::elementwise<8>},
    {"PReLU", kCompute, nullptr, ncnn_costs::elementwise<2, 0>},
    {"ReLU", kCompute, nullptr, ncnn_costs::elementwise<1>},
    {"Clip", kCompute, nullptr, ncnn_costs::elementwise<2>},
    {"Threshold", kCompute, nullptr, ncnn_costs::elementwise<1>},
    {"ELU", kCompute, nullptr, ncnn_costs::elementwise<3>},
    {"CELU", kCompute, nullptr, ncnn_costs::elementwise<4>},
    {"SELU", kCompute, nullptr, ncnn_costs::elementwise<4>},
    {"GELU", kCompute, nullptr, ncnn_costs::elementwise<8>},
    {"GLU", kCompute, ncnn_shapes::glu, ncnn_costs::elementwise<4>},
    {"Swish", kCompute, nullptr, ncnn_costs::elementwise<4>},
    {"Mish", kCompute, nullptr, ncnn_costs::elementwise<6>},
    {"Sigmoid", kCompute, nullptr, ncnn_costs::elementwise<3>},
    {"HardSigmoid", kCompute, nullptr, ncnn_costs::elementwise<4>},
    {"HardSwish", kCompute, nullptr, ncnn_costs::elementwise<5>},
    {"TanH", kCompute, nullptr, ncnn_costs::elementwise<4>},
    {"Softplus", kCompute, nullptr, ncnn_costs::elementwise<3>},
    {"Shrink", kCompute, nullptr, ncnn_costs::elementwise<2>},
    {"Exp", kCompute, nullptr, ncnn_costs::elementwise<1>},
    {"Log", kCompute, nullptr, ncnn_costs::elementwise<1>},
    {"Power", kCompute, nullptr, ncnn_costs::elementwise<3>},
    {"BNLL", kCompute, nullptr, ncnn_costs::elementwise<3>},
    {"Erf", kCompute, nullptr, ncnn_costs::elementwise<4>},
    {"Softmax", kCompute, nullptr, ncnn_costs::elementwise<5>},
    {"CumulativeSum", kCompute, nullptr, ncnn_costs::elementwise<1>},
    {"RotaryEmbed", kCompute, nullptr, ncnn_costs::elementwise<3>},
    {"Cast", kCompute, nullptr, ncnn_costs::elementwise<1>},
    {"Quantize", kCompute, nullptr, ncnn_costs::elementwise<2, 0>},
    {"Dequantize", kCompute, nullptr, ncnn_costs::elementwise<2, 0>},
    {"Requantize", kCompute, nullptr, ncnn_costs::elementwise<3, 0>},
    {"Packing", kCompute, nullptr, ncnn_costs::copy},
    {"DetectionOutput", kCompute, ncnn_shapes::detections, ncnn_costs::elementwise<8>},
    {"Yolov3DetectionOutput", kCompute, nullptr, ncnn_costs::elementwise<8>},
    {"YoloDetectionOutput", kCompute, nullptr, ncnn_costs::elementwise<8>},
    {"PriorBox", kCompute, ncnn_shapes::prior_box, ncnn_costs::elementwise<8>},
    {"Proposal", kCompute, nullptr, ncnn_costs::elementwise<8>},
};

const LayerRule* rule_of(std::string_view type) {
  const auto found = std::find_if(std::begin(kNcnnRules), std::end(kNcnnRules),
                                  [&](const LayerRule& rule) { return rule.type == type; });
  return found == std::end(kNcnnRules) ? nullptr : found;
}

// Returns the parameter of a layer that says whether its weights are quantised: 0 stands for no,
// 400 to 899 for blocks of 4 to 8 bits as the hundreds say, all else for 8 bits, with products in 8
// bits.
std::int64_t quantisation_of(const NcnnLayer& layer) {
  const bool newer =
      layer.type == "Gemm" || layer.type == "MultiHeadAttention" || layer.type == "Embed";
  const bool older = layer.type == "Convolution" || layer.type == "ConvolutionDepthWise" ||
                     layer.type == "InnerProduct" || layer.type == "LSTM" || layer.type == "GRU" ||
                     layer.type == "RNN";
  return newer ? layer.params.integer(18, 0) : older ? layer.params.integer(8, 0) : 0;
}
bool is_in_blocks(std::int64_t term) {
  return term >= 400 && term < 900;
}

// Returns the input's shape with which the result of a layer without weights is as wanted.
NcnnShape wanted_before(const NcnnLayer& layer, NcnnShape wanted) {
  const LayerRule* rule = rule_of(layer.type);
  if (rule == nullptr || rule->shapes == nullptr) return wanted;
  if (layer.type == "BinaryOp" || layer.type == "Eltwise") return wanted;
  if (layer.type == "Concat" && layer.params.integer(0, 0) == 0 && wanted.rank == 3) {
    wanted.c = 0;  // the inputs share the channels in an unknown way
    return wanted;
  }
  // These layers work on images. They mostly keep the channels, and the sides are guessed anyway.
  for (const std::string_view type : {"Padding", "Crop", "Interp"}) {
    if (layer.type == type) return wanted.rank == 3 ? wanted : kNcnnNothingWanted;
  }
  if ((layer.type == "Reorg" || layer.type == "YoloV5Focus") && wanted.rank == 3) {
    const std::int64_t side = ncnn_block_side(layer);
    wanted.c /= side * side;
    return wanted;
  }
  return kNcnnNothingWanted;
}

}  // namespace

double ncnn_weight_bits(const NcnnLayer& layer) {
  const std::int64_t term = quantisation_of(layer);
  if (term == 0) return 32.0;
  return is_in_blocks(term) ? static_cast<double>(term / 100) : 8.0;
}

double NcnnShape::elements() const {
  return static_cast<double>(w) * static_cast<double>(h) * static_cast<double>(d) *
         static_cast<double>(c);
}

std::int64_t* NcnnShape::axis(std::int64_t number) {
  if (number < 0) number += rank;
  if (number < 0 || number >= rank) return nullptr;
  std::int64_t* const outermost_first[4][4] = {{&w}, {&h, &w}, {&c, &h, &w}, {&c, &d, &h, &w}};
  return outermost_first[rank - 1][number];
}

NcnnKind ncnn_kind(std::string_view type) {
  const LayerRule* rule = rule_of(type);
  return rule == nullptr ? NcnnKind::kUnknown : rule->kind;
}

std::vector<NcnnShape> ncnn_output_shapes(const NcnnLayer& layer,
                                          std::span<const NcnnShape> inputs) {
  const LayerRule* rule = rule_of(layer.type);
  std::vector<NcnnShape> shapes;
  if (layer.inputs.empty()) {
    const NcnnParams& p = layer.params;
    NcnnShape given{0, p.integer(0, 0), p.integer(1, 0), p.integer(11, 0), p.integer(2, 0)};
    given.rank = given.d > 0 ? 4 : given.c > 0 ? 3 : given.h > 0 ? 2 : given.w > 0 ? 1 : 0;
    for (std::int64_t* size : {&given.w, &given.h, &given.d, &given.c}) {
      *size = std::max<std::int64_t>(*size, 1);
    }
    shapes.assign(layer.outputs.size(), given);
  } else if (rule != nullptr && rule->shapes != nullptr) {
    shapes = rule->shapes(layer, inputs);
  }
  shapes.resize(layer.outputs.size(), inputs.empty() ? NcnnShape{} : inputs[0]);
  // Parameter 30 has four hints for each output: its rank, w, h and c.
  const std::vector<double>& hints = layer.params.array(30);
  for (std::size_t i = 0; i < shapes.size() && 4 * i + 3 < hints.size(); ++i) {
    const auto rank = static_cast<int>(std::clamp(hints[4 * i], 0.0, 3.0));
    if (rank == 0) continue;
    const auto size = [&](std::size_t k) { return bounded_ncnn_size(hints[4 * i + k]); };
    shapes[i] = {rank, size(1), rank >= 2 ? size(2) : 1, 1, rank >= 3 ? size(3) : 1};
  }
  for (NcnnShape& shape : shapes) {
    for (std::int64_t* size : {&shape.w, &shape.h, &shape.d, &shape.c}) {
      *size = std::clamp<std::int64_t>(*size, 0, kNcnnMaxSize);
    }
  }
  return shapes;
}

NcnnCost ncnn_cost(const NcnnLayer& layer, std::span<const NcnnShape> inputs,
                   std::span<const NcnnShape> outputs) {
  if (outputs.empty() || inputs.empty()) return {};
  const LayerRule* rule = rule_of(layer.type);
  if (rule == nullptr) return {outputs[0].elements()};
  NcnnCost cost = rule->cost(layer, inputs, outputs);
  cost.weight_bits = ncnn_weight_bits(layer);
  if (cost.works.empty()) {
    const kernel::Work work = ncnn_work_on_rows(layer, inputs[0], outputs[0]);
    if (work != kernel::Work{}) cost.works = {work};
  }
  // Weights in blocks are only stored so: products are of floating numbers.
  const std::int64_t term = quantisation_of(layer);
  if (term == 0 || is_in_blocks(term)) return cost;
  for (kernel::Work& work : cost.works) {
    if (work.depth > 0.0) work.type = ElementType::kI8;
  }
  return cost;
}

ElementType ncnn_result_type(const NcnnLayer& layer, ElementType input) {
  if (layer.type == "Cast") {
    switch (layer.params.integer(1, 0)) {
      case 1:
        return ElementType::kF32;
      case 2:
        return ElementType::kF16;
      case 3:
        return ElementType::kI8;
      case 4:
        return ElementType::kBf16;
      default:
        return input;
    }
  }
  if (layer.type == "Quantize" || layer.type == "Requantize") return ElementType::kI8;
  // Terms above 100 say that the next layer is quantised as well and takes integers.
  const std::int64_t term = quantisation_of(layer);
  if (term > 100 && !is_in_blocks(term)) return ElementType::kI8;
  if (is_floating(input)) return input;
  const kernel::WorkClass work_class = kernel::classify_op(layer.type);
  const bool keeps = ncnn_kind(layer.type) == NcnnKind::kView || layer.type == "ReLU" ||
                     layer.type == "Pooling" || work_class == kernel::WorkClass::kCopy;
  return keeps ? input : ElementType::kF32;
}

NcnnShape ncnn_wanted_input(const NcnnLayer& layer, std::size_t input,
                            const NcnnShape& wanted_result) {
  const NcnnParams& p = layer.params;
  if (layer.type == "MultiHeadAttention" && input < 3) {
    const std::int64_t width = std::max<std::int64_t>(p.integer(0, 1), 1);
    const std::int64_t keys = p.integer(3, width), values = p.integer(4, width);
    return {2, input == 0 ? p.integer(2, 0) / width : input == 1 ? keys : values, 0, 0, 0};
  }
  // Inputs after the first are masks, positions and the like, except in layers that treat all
  // inputs alike.
  if (input > 0 && layer.type != "BinaryOp" && layer.type != "Eltwise" && layer.type != "Concat") {
    return kNcnnNothingWanted;
  }
  const auto ratio = [](double a, double b) { return b > 0 ? bounded_ncnn_size(a / b) : 0; };
  NcnnShape wanted = kNcnnNothingWanted;
  const double outputs = p.number(0, 0.0);
  if (layer.type == "Convolution" || layer.type == "ConvolutionDepthWise") {
    const double window = p.number(1, 1.0) * p.number(11, p.number(1, 1.0));
    // Each output channel has weights for the input channels of its own group only.
    const double groups =
        layer.type == "ConvolutionDepthWise" ? std::max(p.number(7, 1.0), 1.0) : 1.0;
    wanted.rank = 3;
    wanted.c = ratio(p.number(6, 0.0) * groups, outputs * window);
  } else if (layer.type == "Convolution1D") {
    wanted.rank = 2;
    wanted.h = ratio(p.number(6, 0.0), outputs * p.number(1, 1.0));
  } else if (layer.type == "LSTM" || layer.type == "GRU" || layer.type == "RNN") {
    const double gates = layer.type == "LSTM" ? 4.0 : layer.type == "GRU" ? 3.0 : 1.0;
    wanted.rank = 2;
    wanted.w = ratio(p.number(1, 0.0), gates * outputs * (p.integer(2, 0) == 2 ? 2.0 : 1.0));
  } else if (layer.type == "InnerProduct") {
    wanted.rank = 1;
    wanted.w = ratio(p.number(2, 0.0), outputs);
  } else if (layer.type == "Gemm" && p.integer(4, 0) == 0 && p.integer(5, 0) != 0) {
    wanted.rank = 2;
    wanted.w = p.integer(9, 0);
    wanted.h = p.integer(7, 0);  // the number of rows when the model was exported
  } else if (layer.type == "LayerNorm" || layer.type == "RMSNorm") {
    wanted.rank = 2;
    wanted.w = p.integer(0, 0);
  } else if (layer.type == "Embed") {
    wanted.rank = 1;
    wanted.h = kDefaultSequence;
  }
  return wanted.rank > 0 ? wanted : wanted_before(layer, wanted_result);
}

}  // namespace doppler::formats
