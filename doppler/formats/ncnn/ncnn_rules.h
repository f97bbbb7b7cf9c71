// The rules of ncnn's layers, which the table in ncnn_layers.cc names, and the expressions with
// which some layers compute sizes. Pure functions, so safe to call from several threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doppler/formats/ncnn/ncnn_layers.h"
#include "doppler/formats/work_list.h"

namespace doppler::formats {

using NcnnInputs = std::span<const NcnnShape>;
using NcnnOutputs = std::span<const NcnnShape>;

// The limit of sizes; larger ones are cut to it. No product of four of them overflows a double.
inline constexpr std::int64_t kNcnnMaxSize = std::int64_t{1} << 40;
inline std::int64_t bounded_ncnn_size(double size) {
  return static_cast<std::int64_t>(std::clamp(size, 0.0, static_cast<double>(kNcnnMaxSize)));
}

// Returns the shape of a matrix: h rows of w elements.
inline NcnnShape ncnn_plane(std::int64_t w, std::int64_t h) {
  return {2, w, h};
}

// The sizes of the product C[m, n] = A[m, k] * B[k, n].
struct NcnnProduct {
  std::int64_t m, n, k;
};
NcnnProduct ncnn_gemm_sizes(const NcnnParams& params, NcnnInputs inputs);

// An einsum of an Einsum layer.
struct NcnnEinsum {
  std::vector<std::pair<char, std::int64_t>> sizes;  // of each letter
  std::vector<ContractionIndex> indices;             // what it is a letter of, in the same order
  std::string result;                                // the letters of the result
};
NcnnEinsum ncnn_einsum(const NcnnLayer& layer, NcnnInputs inputs);

// Returns the bits of one weight of a layer.
double ncnn_weight_bits(const NcnnLayer& layer);

// Returns the rows and columns of layers that normalise or reduce; else Work{}.
kernel::Work ncnn_work_on_rows(const NcnnLayer& layer, NcnnShape in, const NcnnShape& out);

// Returns the side of the blocks of pixels that become channels (Reorg, YoloV5Focus), or of the
// blocks that channels become (PixelShuffle).
std::int64_t ncnn_block_side(const NcnnLayer& layer);

// Rules that return the shapes of the outputs. REQUIRES: the layer has an input and an output.
namespace ncnn_shapes {
std::vector<NcnnShape> convolution(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> deconvolution(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> pooling(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> inner_product(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> gemm(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> mat_mul(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> attention(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> multi_head_attention(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> concat(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> slice(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> reshape(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> expand_dims(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> squeeze(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> permute(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> tile(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> crop(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> interp(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> padding(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> pixel_shuffle(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> reorg(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> reduction(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> broadcast(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> flatten(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> embed(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> recurrent(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> glu(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> arg_max(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> unfold(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> einsum(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> grid_sample(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> roi_pooling(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> spectrogram(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> prior_box(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> detections(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> short_convolution(const NcnnLayer& layer, NcnnInputs in);
std::vector<NcnnShape> gated_delta_rule(const NcnnLayer& layer, NcnnInputs in);
}  // namespace ncnn_shapes

// Rules that return the cost. REQUIRES: the layer has an input and an output.
namespace ncnn_costs {
NcnnCost convolution(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out);
NcnnCost deconvolution(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out);
NcnnCost pooling(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out);
NcnnCost inner_product(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out);
NcnnCost gemm(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out);
NcnnCost mat_mul(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out);
NcnnCost attention(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out);
NcnnCost multi_head_attention(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out);
NcnnCost recurrent(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out);
NcnnCost embed(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out);
NcnnCost einsum(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out);
NcnnCost spectrogram(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out);
NcnnCost short_convolution(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out);
NcnnCost gated_delta_rule(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out);
NcnnCost copy(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out);

// Returns a cost of kPerElement operations for each element of the output or, if it is larger, of
// the first input, and of kTimes as many trained values as the parameter kSize says.
template <int kPerElement, int kSize = -1, int kTimes = 1>
NcnnCost elementwise(const NcnnLayer& layer, NcnnInputs in, NcnnOutputs out) {
  const double elements = std::max(out[0].elements(), in.empty() ? 0.0 : in[0].elements());
  const double size = kSize >= 0 ? std::max(layer.params.number(kSize, 0.0), 0.0) : 0.0;
  return {kPerElement * elements, kTimes * size};
}

}  // namespace ncnn_costs

// Returns the sizes that a list of ncnn's expressions gives: "/(0w,2),64,max(1h,8)" is half the
// width of the first input, then 64, then the height of the second input but at least 8. Returns
// nothing if the text is not such a list, or names an input that does not exist.
std::optional<std::vector<double>> ncnn_evaluate(std::string_view text, NcnnInputs inputs);

}  // namespace doppler::formats
