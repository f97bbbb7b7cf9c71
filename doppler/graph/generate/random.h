// Random graphs of well-known families, for trying placement methods at any size.
//
// Every graph has given times and given transfer times in seconds, and with them flops and bytes
// that a nominal device (kNominalFlopsPerSecond, kNominalLinkBytesPerSecond) would need these times
// for. So it works with identical devices and given times as well as with real topologies and a
// roofline. The same specification gives the same graph, bit for bit.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "doppler/graph/graph.h"

namespace doppler::graph {

enum class Family : std::uint8_t {
  kLayered,         // layers of random width; operands from the last few layers
  kForkJoin,        // stages of parallel chains between a split and a join
  kSeriesParallel,  // random nesting of series and parallel composition
  kCholesky,        // tiled Cholesky factorisation
  kFft,             // recursive calls followed by butterflies
};

struct RandomSpec {
  Family family = Family::kLayered;
  // The wanted size. Layered, fork-join and series-parallel graphs have exactly this many nodes;
  // the others the nearest number that their structure allows.
  std::size_t nodes = 100;
  // Mean transfer time of an edge / mean time of a node.
  double ccr = 1.0;
  std::uint64_t seed = 1;
  double mean_time = 1e-3;  // of a node, in seconds
};

inline constexpr std::size_t kMaxRandomNodes = 5'000'000;

// A mid-range accelerator in single precision behind PCIe 3.0 x16: round figures that make the
// given times and the physical quantities tell the same story, not a model of one product.
inline constexpr double kNominalFlopsPerSecond = 1e13;
inline constexpr double kNominalLinkBytesPerSecond = 16e9;

// Throws ParameterError where the specification is out of range: 1 to kMaxRandomNodes nodes, a
// finite ccr >= 0, a finite mean time > 0.
Graph generate_random(const RandomSpec& spec);

// "layered", "fork-join", "series-parallel", "cholesky", "fft". Throws ParameterError for others.
Family family_by_name(std::string_view name);
std::string_view family_name(Family family);
std::span<const Family> all_families();

}  // namespace doppler::graph
