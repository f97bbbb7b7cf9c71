// The figures of how kernels run on an accelerator that no data sheet has: fixed costs, and shares
// of the peaks. cost/kernel_times.h says how times follow from them.
//
// The defaults are those of NVIDIA's A100 with the kernels of PyTorch, cuBLAS and vLLM in f16, and
// stand for every other accelerator as well. Where a figure was fitted, it was by
// `bench/quality/gpu_costs.py --fit` on the times of the operations of Llama-2-7B, which ends
// within a percent of them; the others have their reason beside them.
//
// Plain values. Units: seconds, bytes; a clock is one of the device's, a multiprocessor a unit that
// thread blocks are spread over.
#pragma once

namespace doppler::device {

// Of dense products. A product is cut into tiles of its result, one for each thread block, and
// where these are few, its depth into parts that a second kernel adds.
struct ProductFigures {
  double floor_seconds = 3.3e-6;    // of an empty product
  double peak_share = 0.885;        // of the peak, inside a tile
  double whole_wave_share = 0.539;  // of a wave's time that its last one takes however empty
  double least_wave = 0.678;        // of a full wave's time, however few tiles there are
  double fill_seconds = 1.45e-6;    // to fill and drain the pipeline of a tile
  double depth_seconds = 2.61e-9;   // latency of each step along the depth
  double second_kernel_seconds = 4.28e-6;
  // A library picks a slower way with the weight (its time / the best time) ^ -choice_exponent,
  // since it does not always know the best.
  double choice_exponent = 3.21;
  double blend_exponent = 2.82;  // time = (compute ^ x + memory ^ x) ^ (1 / x)
  // Long kernels on matrix units slow down by up to this share, as clocks fall under the limit of
  // power.
  double heat_share = 0.33;
  // Not fitted: the time at which half of that is reached. Products that take 3 ms run at 220
  // Tflop/s, and shorter ones of the same kind at 260.
  double heat_seconds = 1e-3;
  // Not fitted: of the memory's bandwidth. The highest rate that was measured is 1.64 of 2.04 TB/s.
  double memory_share = 0.83;
  // Not fitted: bytes a clock and multiprocessor that feed a tile, and that add its parts, from the
  // last cache. 64 is what the data sheets of these generations give for reading.
  double tile_bytes_per_clock = 60.0;
  double sum_bytes_per_clock = 42.0;

  friend bool operator==(const ProductFigures&, const ProductFigures&) = default;
};

// Of kernels that read and write every element about once.
struct StreamFigures {
  double floor_seconds = 2.03e-6;  // of an empty kernel
  double bytes_per_clock = 14.2;   // that one multiprocessor reads and writes
  double read_passes = 1.0;        // how often what is read comes from memory

  friend bool operator==(const StreamFigures&, const StreamFigures&) = default;
};

struct KernelFigures {
  ProductFigures product = {};
  StreamFigures elementwise = {};
  // Exponentials and the like; not fitted: the geometric mean of the rates above and below.
  StreamFigures activation = {.bytes_per_clock = 9.31};
  // Parts of rows that lie apart: gated activations, rotary embeddings, transposes.
  StreamFigures strided = {.floor_seconds = 2.89e-6, .bytes_per_clock = 6.1};
  // A norm reads its row for the moments and again for the result.
  StreamFigures norm = {.floor_seconds = 3.78e-6, .bytes_per_clock = 5.35, .read_passes = 2.0};
  StreamFigures gather = {.floor_seconds = 4.18e-6, .bytes_per_clock = 2.03};
  // Not fitted: the floor of a norm, whose blocks wait for each other as well, and wide reads.
  StreamFigures reduction = {.floor_seconds = 3.78e-6};
  double memory_share = 0.86;   // of the memory's bandwidth that these kernels reach
  double blend_exponent = 1.6;  // time = (floor ^ x + work ^ x) ^ (1 / x)
  // Kernels that move at most the first share of the last cache's size find everything in it, those
  // that move the second share or more nothing. Not fitted.
  double cached_share = 0.65, uncached_share = 1.1;
  // From the end of a kernel to the start of the next one in a full queue: "Getting Started with
  // CUDA Graphs" (NVIDIA technical blog, 2019) measures 3.8 us for each kernel of 2.9 us.
  double launch_seconds = 0.9e-6;

  friend bool operator==(const KernelFigures&, const KernelFigures&) = default;
};

// The values that a figure may have: kShare is above 0 and at most 1, kExponent at least 1.
enum class FigureSign { kNotNegative, kPositive, kShare, kExponent };

// Calls `visit(part, name, figure, sign)` for each figure, by the names of members; `part` is empty
// for those of KernelFigures itself.
template <class Figures, class Visit>
void visit_figures(Figures& kernels, const Visit& visit) {
  using enum FigureSign;
  auto& product = kernels.product;
  visit("product", "floor_seconds", product.floor_seconds, kNotNegative);
  visit("product", "peak_share", product.peak_share, kShare);
  visit("product", "whole_wave_share", product.whole_wave_share, kNotNegative);
  visit("product", "least_wave", product.least_wave, kNotNegative);
  visit("product", "fill_seconds", product.fill_seconds, kNotNegative);
  visit("product", "depth_seconds", product.depth_seconds, kNotNegative);
  visit("product", "second_kernel_seconds", product.second_kernel_seconds, kNotNegative);
  visit("product", "choice_exponent", product.choice_exponent, kNotNegative);
  visit("product", "blend_exponent", product.blend_exponent, kExponent);
  visit("product", "heat_share", product.heat_share, kNotNegative);
  visit("product", "heat_seconds", product.heat_seconds, kPositive);
  visit("product", "memory_share", product.memory_share, kShare);
  visit("product", "tile_bytes_per_clock", product.tile_bytes_per_clock, kPositive);
  visit("product", "sum_bytes_per_clock", product.sum_bytes_per_clock, kPositive);
  const auto stream = [&](const char* part, auto& figures) {
    visit(part, "floor_seconds", figures.floor_seconds, kNotNegative);
    visit(part, "bytes_per_clock", figures.bytes_per_clock, kPositive);
    visit(part, "read_passes", figures.read_passes, kNotNegative);
  };
  stream("elementwise", kernels.elementwise);
  stream("activation", kernels.activation);
  stream("strided", kernels.strided);
  stream("norm", kernels.norm);
  stream("gather", kernels.gather);
  stream("reduction", kernels.reduction);
  visit("", "memory_share", kernels.memory_share, kShare);
  visit("", "blend_exponent", kernels.blend_exponent, kExponent);
  visit("", "cached_share", kernels.cached_share, kNotNegative);
  visit("", "uncached_share", kernels.uncached_share, kPositive);
  visit("", "launch_seconds", kernels.launch_seconds, kNotNegative);
}

}  // namespace doppler::device
