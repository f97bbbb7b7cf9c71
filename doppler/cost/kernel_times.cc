#include "doppler/cost/kernel_times.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace doppler::cost {
namespace {

using device::DeviceKind;
using device::Hardware;
using device::KernelFigures;
using device::ProductFigures;
using device::StreamFigures;
using kernel::WorkClass;

double blend(double a, double b, double exponent) {
  // Relative to the larger, so that nothing overflows.
  const double large = std::max(a, b), small = std::min(a, b);
  if (small <= 0.0) return large;
  return large * std::pow(1.0 + std::pow(small / large, exponent), 1.0 / exponent);
}

// Returns the share of the bytes that kernels move which comes from memory: all of it where much
// more is moved than the last cache holds.
double uncached_share(const Hardware& hardware, double moved) {
  const KernelFigures& kernels = hardware.kernels;
  return std::clamp((moved / hardware.cache_bytes - kernels.cached_share) /
                        (kernels.uncached_share - kernels.cached_share),
                    0.0, 1.0);
}

// --- products ---

struct Tile {
  double rows, columns;
};
// The tiles that vendors' libraries have for matrix units, and the parts into which they cut the
// depth.
constexpr std::array<Tile, 8> kTiles = {
    {{256, 128}, {128, 256}, {256, 64}, {64, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64}}};
constexpr std::array<double, 6> kDepthParts = {1, 2, 3, 4, 6, 8};
constexpr double kLeastDepthOfPart = 256.0;
// Ways that take longer than the best by this factor are never picked.
constexpr double kWorstWay = 1.7;
// Where the shape of a product is not known, it is taken to lose this much to waves that are not
// full and tiles that reach beyond the result.
constexpr double kShareOfUnknownShape = 0.85;

// Matrix units take whole tiles, however few rows a product has. The other units work on few rows
// at a time, so that a tile is computed only as far as the product reaches.
constexpr double kGrainOfMatrixUnits = 256.0, kGrainOfOtherUnits = 8.0;

// Returns whether products of the type run on matrix units. Without them, f16 is at best twice as
// fast as f32.
bool on_matrix_units(const Hardware& hardware, ElementType type) {
  if (type == ElementType::kF32 || type == ElementType::kF64) return false;
  return hardware.product_peak(ElementType::kBf16) > 0.0 ||
         hardware.product_peak(type) > 4.0 * hardware.product_peak(ElementType::kF32);
}

// Returns the seconds that the multiprocessors are busy with the product, averaged over the ways in
// which a library may compute it. `grain` is the least number of rows and columns that are computed
// together.
double tiled_seconds(const Hardware& hardware, double peak, const KernelRun& run, double grain) {
  const ProductFigures& figures = hardware.kernels.product;
  const double most_rows = std::ceil(run.rows / grain) * grain;
  const double most_columns = std::ceil(run.columns / grain) * grain;
  const double processors = hardware.multiprocessors;
  const double rate = figures.peak_share * peak / processors;
  const double feed = figures.tile_bytes_per_clock * hardware.clock_hz;
  const double element = element_bytes(run.type);
  std::array<double, kTiles.size() * kDepthParts.size()> seconds;
  std::size_t ways = 0;
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    const double tiles =
        run.batch * std::ceil(run.rows / tile.rows) * std::ceil(run.columns / tile.columns);
    const double step =
        std::max(2.0 * std::min(tile.rows, most_rows) * std::min(tile.columns, most_columns) / rate,
                 element * (tile.rows + tile.columns) / feed);
    for (const double parts : kDepthParts) {
      const double blocks = tiles * parts, depth = run.depth / parts;
      if (parts > 1.0 && (depth < kLeastDepthOfPart || blocks > 2.0 * processors)) break;
      const double load = blocks / processors;
      const double waves = std::max(
          figures.whole_wave_share * std::ceil(load) + (1.0 - figures.whole_wave_share) * load,
          figures.least_wave);
      double way = std::max(waves * (step * depth + figures.fill_seconds),
                            figures.depth_seconds * depth + figures.fill_seconds);
      if (parts > 1.0) {  // partial sums in f32, written and read in the cache
        way += figures.second_kernel_seconds +
               8.0 * parts * run.batch * run.rows * run.columns /
                   (figures.sum_bytes_per_clock * hardware.clock_hz * processors);
      }
      seconds[ways++] = way;
      best = std::min(best, way);
    }
  }
  double sum = 0.0, weights = 0.0;
  for (const double way : std::span(seconds).first(ways)) {
    if (way >= kWorstWay * best) continue;
    const double weight = std::pow(way / best, -figures.choice_exponent);
    sum += weight * way;
    weights += weight;
  }
  return sum / weights;
}

// Returns the seconds of the product computed in `type`.
double product_seconds_in(ElementType type, const DeviceKind& kind, const KernelRun& run) {
  const Hardware& hardware = *kind.hardware;
  const ProductFigures& figures = hardware.kernels.product;
  const bool matrix_units = on_matrix_units(hardware, type);
  const double peak = hardware.product_peak(type);
  double compute = 0.0;
  if (run.is_product()) {
    compute =
        tiled_seconds(hardware, peak, run, matrix_units ? kGrainOfMatrixUnits : kGrainOfOtherUnits);
  } else if (run.flops) {
    compute = *run.flops / (figures.peak_share * kShareOfUnknownShape * peak);
  }
  double moved = run.bytes.value_or(0.0);
  // The weights of a recurrent layer stay in the cache from one step to the next where they fit.
  if (run.work_class == WorkClass::kRecurrence) moved *= uncached_share(hardware, moved);
  const double memory = moved / (figures.memory_share * *kind.memory_bandwidth);
  const double busy = blend(compute, memory, figures.blend_exponent);
  const double heat =
      matrix_units ? figures.heat_share * busy / (busy + figures.heat_seconds) : 0.0;
  return figures.floor_seconds + busy * (1.0 + heat);
}

double product_seconds(const DeviceKind& kind, const KernelRun& run) {
  const ElementType type = product_type(*kind.hardware, run.type);
  const double seconds = product_seconds_in(type, kind, run);
  // Whoever allows tf32 gets it where it helps: cards for games have no more of it than of f32.
  if (type != ElementType::kTf32) return seconds;
  return std::min(seconds, product_seconds_in(ElementType::kF32, kind, run));
}

// --- everything else ---

// Kernels outside the matrix units reach at most half of the peak in f32, which counts an addition
// and a multiplication in each cycle.
constexpr double kVectorShare = 0.5;
// Triangular solves and factorisations of a tile have little parallelism: the shares of the peak
// that the roofline has assumed for them as well.
constexpr double kSolveShare = 0.5;
constexpr double kFactorisationShare = 0.25;
// Fused attention reaches half to two thirds of the peak of products (FlashAttention-2, 2023: 50 to
// 73 % on A100 forward).
constexpr double kAttentionShare = 0.6;

double stream_seconds(const DeviceKind& kind, const StreamFigures& figures, const KernelRun& run,
                      double flops_per_second) {
  const Hardware& hardware = *kind.hardware;
  const KernelFigures& kernels = hardware.kernels;
  const double moved = run.bytes.value_or(0.0), read = std::min(run.bytes_read, moved);
  const double memory = uncached_share(hardware, moved) *
                        (moved + read * (figures.read_passes - 1.0)) /
                        (kernels.memory_share * *kind.memory_bandwidth);
  const double processors =
      moved / (figures.bytes_per_clock * hardware.clock_hz * hardware.multiprocessors);
  const double work = std::max({memory, processors, run.flops.value_or(0.0) / flops_per_second});
  return blend(figures.floor_seconds, work, kernels.blend_exponent);
}

// Norms and softmax of rows that the registers of a block hold read their rows once, as PyTorch's
// softmax of up to 1024 elements does.
constexpr double kLongestRowInRegisters = 1024.0;

const StreamFigures& stream_figures(const KernelFigures& kernels, const KernelRun& run) {
  switch (run.work_class) {
    case WorkClass::kActivation:
      return kernels.activation;
    case WorkClass::kGated:
    case WorkClass::kConvolution:  // with few channels a group
      return kernels.strided;
    case WorkClass::kNorm:
    case WorkClass::kSoftmax:
      return run.columns > 0.0 && run.columns <= kLongestRowInRegisters ? kernels.reduction
                                                                        : kernels.norm;
    case WorkClass::kReduction:
    case WorkClass::kSolve:
    case WorkClass::kFactorisation:
      return kernels.reduction;
    case WorkClass::kGather:
      return kernels.gather;
    case WorkClass::kProduct:
    case WorkClass::kAttention:
    case WorkClass::kRecurrence:
    case WorkClass::kElementwise:
    case WorkClass::kCopy:
      break;
  }
  return kernels.elementwise;
}

}  // namespace

ElementType product_type(const Hardware& hardware, ElementType type) {
  const auto has = [&](ElementType each) { return hardware.product_peak(each) > 0.0; };
  if (has(type)) return type;
  switch (type) {
    case ElementType::kFp8:
      if (has(ElementType::kBf16)) return ElementType::kBf16;
      if (has(ElementType::kF16)) return ElementType::kF16;
      break;
    case ElementType::kI4:
      if (has(ElementType::kI8)) return ElementType::kI8;
      [[fallthrough]];
    case ElementType::kI8:
      if (has(ElementType::kF16)) return ElementType::kF16;
      if (has(ElementType::kBf16)) return ElementType::kBf16;
      break;
    default:  // a wider type than any that a matrix unit takes
      break;
  }
  return ElementType::kF32;  // which all devices have; f64 too, where there is nothing wider
}

std::optional<double> kernel_seconds(const DeviceKind& kind, const KernelRun& run) {
  if (!run.flops && !run.bytes) return std::nullopt;
  const double wide = kind.hardware->product_peak(ElementType::kF64);
  const double peak = run.type == ElementType::kF64 && wide > 0.0 ? std::min(wide, *kind.peak_flops)
                                                                  : *kind.peak_flops;
  const double vector = kVectorShare * peak;
  const auto streamed = [&](double flops_per_second) {
    return stream_seconds(kind, stream_figures(kind.hardware->kernels, run), run, flops_per_second);
  };
  switch (run.work_class) {
    case WorkClass::kProduct:
    case WorkClass::kRecurrence:
      return product_seconds(kind, run);
    case WorkClass::kConvolution:
      // Libraries take the matrix units or, where a group has few channels, a direct loop.
      return std::min(product_seconds(kind, run), streamed(vector));
    case WorkClass::kAttention: {
      const ElementType type = product_type(*kind.hardware, run.type);
      return streamed(kAttentionShare * kind.hardware->product_peak(type));
    }
    case WorkClass::kSolve:
      return streamed(kSolveShare * peak);
    case WorkClass::kFactorisation:
      return streamed(kFactorisationShare * peak);
    default:
      return streamed(vector);
  }
}

}  // namespace doppler::cost
