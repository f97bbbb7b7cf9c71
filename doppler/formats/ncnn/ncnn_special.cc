// Rules of ncnn's layers for detection, speech and language models.
#include <cmath>

#include "doppler/formats/ncnn/ncnn_rules.h"

namespace doppler::formats {

// Parameter 0 holds the equation, as a text or as a list of character codes: that of "ij,jk->ik"
// has nine numbers.
NcnnEinsum ncnn_einsum(const NcnnLayer& layer, NcnnInputs inputs) {
  NcnnEinsum einsum;
  std::string text(layer.params.text(0));
  for (const double code : layer.params.array(0)) {
    if (code > ' ' && code < 127.0) text.push_back(static_cast<char>(code));
  }
  const std::size_t arrow = std::min(text.find("->"), text.size());
  if (arrow < text.size()) einsum.result = text.substr(arrow + 2);
  std::size_t input = 0;
  std::int64_t place = 0;
  const auto is_of_result = [&](char letter) {
    return einsum.result.find(letter) != std::string::npos;
  };
  for (const char letter : std::string_view(text).substr(0, arrow)) {
    if (letter == ',') {
      ++input;
      place = 0;
      continue;
    }
    if (input >= inputs.size()) break;
    NcnnShape shape = inputs[input];
    const std::int64_t* size = shape.axis(place++);
    if (size == nullptr) continue;
    const auto known = std::find_if(einsum.sizes.begin(), einsum.sizes.end(),
                                    [&](const auto& entry) { return entry.first == letter; });
    const auto at = static_cast<std::size_t>(known - einsum.sizes.begin());
    if (known == einsum.sizes.end()) {
      einsum.sizes.emplace_back(letter, *size);
      einsum.indices.push_back({static_cast<double>(*size), false, false, is_of_result(letter)});
    }
    (input == 0 ? einsum.indices[at].in_first : einsum.indices[at].in_others) = true;
  }
  return einsum;
}

namespace ncnn_shapes {
namespace {

using Shapes = std::vector<NcnnShape>;

}  // namespace

Shapes glu(const NcnnLayer& layer, NcnnInputs in) {
  NcnnShape out = in[0];
  if (std::int64_t* size = out.axis(layer.params.integer(0, 0))) *size /= 2;
  return {out};
}

Shapes arg_max(const NcnnLayer& layer, NcnnInputs) {
  const std::int64_t count = layer.params.integer(1, 1);
  return {layer.params.integer(0, 0) != 0 ? ncnn_plane(count, 2) : NcnnShape{1, count}};
}

// Returns the shape of a matrix with a column for each position of the window.
Shapes unfold(const NcnnLayer& layer, NcnnInputs in) {
  const NcnnShape places = convolution(layer, in)[0];
  const NcnnParams& p = layer.params;
  const double window = p.number(1, 1.0) * p.number(11, p.number(1, 1.0));
  return {
      ncnn_plane(bounded_ncnn_size(static_cast<double>(places.w) * static_cast<double>(places.h)),
                 bounded_ncnn_size(window * static_cast<double>(in[0].c)))};
}

Shapes einsum(const NcnnLayer& layer, NcnnInputs in) {
  const NcnnEinsum equation = ncnn_einsum(layer, in);
  if (equation.result.size() > 4) return {in[0]};
  NcnnShape out;
  out.rank = std::max(static_cast<int>(equation.result.size()), 1);
  for (std::size_t i = 0; i < equation.result.size(); ++i) {
    for (const auto& [letter, size] : equation.sizes) {
      if (letter == equation.result[i]) *out.axis(static_cast<std::int64_t>(i)) = size;
    }
  }
  return {out};
}

// Returns the input's shape with the sides of the grid. The grid has two coordinates for each pixel
// of the result, in its innermost dimension or, if parameter 3 is set, in its outermost.
Shapes grid_sample(const NcnnLayer& layer, NcnnInputs in) {
  NcnnShape out = in[0];
  if (in.size() < 2 || out.rank != 3 || in[1].rank != 3) return {out};
  const bool outermost = layer.params.integer(3, 0) != 0;
  out.w = outermost ? in[1].w : in[1].h;
  out.h = outermost ? in[1].h : in[1].c;
  return {out};
}

Shapes roi_pooling(const NcnnLayer& layer, NcnnInputs in) {
  NcnnShape out = in[0];
  out.w = layer.params.integer(0, 1);
  out.h = layer.params.integer(1, 1);
  return {out};
}

Shapes spectrogram(const NcnnLayer& layer, NcnnInputs in) {
  const NcnnParams& p = layer.params;
  const std::int64_t length = p.integer(0, 1);
  const std::int64_t hop = std::max<std::int64_t>(p.integer(2, length / 4), 1);
  const bool centred = p.integer(5, 1) != 0, one_sided = p.integer(8, 1) != 0;
  const std::int64_t frames =
      std::max<std::int64_t>((in[0].w - (centred ? 0 : length)) / hop + 1, 1);
  const std::int64_t rows = one_sided ? length / 2 + 1 : length;
  NcnnShape out = ncnn_plane(frames, rows);
  if (p.integer(1, 0) == 0) out = {3, 2, frames, 1, rows};  // complex numbers
  return {out};
}

// Returns a shape of two rows with four numbers for each box: its coordinates and their variances.
Shapes prior_box(const NcnnLayer& layer, NcnnInputs in) {
  const NcnnParams& p = layer.params;
  const auto sizes = static_cast<double>(p.array(0).size());
  const auto ratios = static_cast<double>(p.array(2).size()) * (p.integer(7, 1) != 0 ? 2.0 : 1.0);
  const double boxes = sizes * (1.0 + ratios) + static_cast<double>(p.array(1).size());
  return {ncnn_plane(
      bounded_ncnn_size(4.0 * boxes * static_cast<double>(in[0].w) * static_cast<double>(in[0].h)),
      2)};
}

Shapes detections(const NcnnLayer& layer, NcnnInputs) {
  return {ncnn_plane(6, layer.params.integer(3, 100))};
}

// The inputs are the weights, the data and a cache; the outputs are the data and the cache.
Shapes short_convolution(const NcnnLayer& layer, NcnnInputs in) {
  Shapes out(layer.outputs.size(), in[0]);
  for (std::size_t i = 0; i < out.size() && i + 1 < in.size(); ++i) out[i] = in[i + 1];
  return out;
}

// The inputs are two vectors, two gates, queries, keys, values and the state. The outputs are the
// values and the state, a matrix of keys by values for each head.
Shapes gated_delta_rule(const NcnnLayer& layer, NcnnInputs in) {
  Shapes out(layer.outputs.size(), in[0]);
  if (in.size() < 7) return out;
  out[0] = in[6];
  if (out.size() > 1) out[1] = {3, in[6].w, in[5].w, 1, in[6].h};
  return out;
}

}  // namespace ncnn_shapes

namespace ncnn_costs {

NcnnCost einsum(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs) {
  const NcnnEinsum equation = ncnn_einsum(layer, in);
  double steps = in.size() > 1 ? 2.0 : 1.0;
  for (const auto& [letter, size] : equation.sizes) steps *= static_cast<double>(size);
  NcnnCost cost{steps};
  if (in.size() > 1) cost.works = {contraction_of(equation.indices)};
  return cost;
}

// Returns the flops of a fast Fourier transform for each frame.
NcnnCost spectrogram(const NcnnLayer& layer, NcnnInputs, NcnnOutputs out) {
  const double length = std::max(layer.params.number(0, 2.0), 2.0);
  const auto frames = static_cast<double>(out[0].rank == 3 ? out[0].h : out[0].w);
  return {5.0 * length * std::log2(length) * frames};
}

NcnnCost short_convolution(const NcnnLayer&, NcnnInputs in, NcnnOutputs out) {
  NcnnCost cost{2.0 * static_cast<double>(in[0].w) * out[0].elements()};
  const auto channels = std::max(static_cast<double>(in[0].h), 1.0);
  cost.works = {
      convolution_of(channels, out[0].elements() / channels, 1.0, static_cast<double>(in[0].w))};
  return cost;
}

// Returns the flops of updating the state, a matrix, for each token and head. The state decays (one
// operation per element), is multiplied by the key, is corrected by an outer product, and is
// multiplied by the query (two operations per element each).
NcnnCost gated_delta_rule(const NcnnLayer&, NcnnInputs in, NcnnOutputs out) {
  if (in.size() < 7) return {out[0].elements()};
  NcnnCost cost{7.0 * static_cast<double>(in[5].w) * in[6].elements()};
  cost.works = {{.work_class = kernel::WorkClass::kRecurrence,
                 .count = std::max(static_cast<double>(in[6].c), 1.0)}};
  return cost;
}

}  // namespace ncnn_costs
}  // namespace doppler::formats
