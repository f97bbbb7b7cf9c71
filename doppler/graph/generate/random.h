// Random graphs of well-known families, for trying placement methods at any size.
//
// generate_random() first lets the family draw a Sketch (which nodes and edges there are, and how
// large they are relative to each other), and then gives it times, flops and bytes. Every graph has
// given times and given transfer times in seconds, together with the flops and bytes for which a
// nominal device (kNominalFlopsPerSecond, kNominalLinkBytesPerSecond) would need these times. So a
// graph works with identical devices and given times as well as with real topologies and a
// roofline.
//
// The same specification gives the same graph, bit for bit. All functions may be called from
// several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/graph/graph.h"

namespace doppler::graph {

enum class Family : std::uint8_t {
  kLayered,         // layers of random width; operands from the last few layers
  kForkJoin,        // stages of parallel chains between a split and a join
  kSeriesParallel,  // random nesting of series and parallel composition
  kCholesky,        // tiled Cholesky factorisation
  kFft,             // recursive calls followed by butterflies
};

// The specification of a random graph.
struct RandomSpec {
  Family family = Family::kLayered;
  // The wanted size. Layered, fork-join and series-parallel graphs have exactly this many nodes;
  // the others the nearest number that their structure allows.
  std::size_t nodes = 100;
  // The communication to computation ratio: mean transfer time of an edge / mean time of a node.
  double ccr = 1.0;
  std::uint64_t seed = 1;
  double mean_time = 1e-3;  // of a node, in seconds
};

inline constexpr std::size_t kMaxRandomNodes = 5'000'000;

// The nominal device: a mid-range accelerator in single precision behind PCIe 3.0 x16. These are
// round figures that make given times agree with flops and bytes, not a model of one product.
inline constexpr double kNominalFlopsPerSecond = 1e13;
inline constexpr double kNominalLinkBytesPerSecond = 16e9;

// Returns the graph that the specification describes. Throws ParameterError unless it has 1 to
// kMaxRandomNodes nodes, a finite ccr >= 0 and a finite mean time > 0.
Graph generate_random(const RandomSpec& spec);

// Returns the family named "layered", "fork-join", "series-parallel", "cholesky" or "fft". Throws
// ParameterError for any other name.
Family family_by_name(std::string_view name);
std::string_view family_name(Family family);
std::span<const Family> all_families();

// --- how a family draws its graph ---

// The structure of a graph with relative sizes, which generate_random() scales to the
// specification.
struct Sketch {
  struct Node {
    std::string name;
    const char* op;
    double work;         // relative to other nodes
    double result_size;  // relative to other nodes
  };
  struct Edge {
    std::uint32_t from;
    std::uint32_t to;
  };

  std::vector<Node> nodes;
  std::vector<Edge> edges;  // each pair once
  // The spread of the times around the work (standard deviation of the logarithm). It is 0 in
  // families whose work is random already.
  double time_noise = 0.0;

  std::uint32_t add(std::string name, const char* op, double work, double result_size) {
    nodes.push_back({std::move(name), op, work, result_size});
    return static_cast<std::uint32_t>(nodes.size() - 1);
  }
  // Adds a node that is named after its number, with log-normal work and result size. `scale` is
  // the median of the work.
  std::uint32_t add_random(const char* op, double scale, Rng& rng);
  void connect(std::uint32_t from, std::uint32_t to) { edges.push_back({from, to}); }
};

// Return sketches with exactly `nodes` nodes. REQUIRES: nodes >= 1.
Sketch sketch_layered(std::size_t nodes, Rng& rng);
Sketch sketch_fork_join(std::size_t nodes, Rng& rng);
Sketch sketch_series_parallel(std::size_t nodes, Rng& rng);
// Return sketches with a number of nodes as near to `nodes` as the structure allows. REQUIRES:
// nodes >= 1.
Sketch sketch_cholesky(std::size_t nodes);
Sketch sketch_fft(std::size_t nodes);

}  // namespace doppler::graph
