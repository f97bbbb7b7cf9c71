#include <algorithm>
#include <cmath>

#include "doppler/graph/generate/sketch.h"

namespace doppler::graph {
namespace {

constexpr double kForkJoinSplitWork = 0.25;
constexpr double kMapWork = 2.0;
constexpr double kJoinWork = 0.5;
constexpr std::uint32_t kMaxChain = 3;
constexpr std::uint32_t kMaxWidth = 256;

}  // namespace

Sketch sketch_fork_join(std::size_t nodes, Rng& rng) {
  Sketch sketch;
  sketch.nodes.reserve(nodes);
  sketch.edges.reserve(nodes * 2);
  const auto usual_width = std::clamp<std::uint32_t>(
      static_cast<std::uint32_t>(std::lround(std::sqrt(static_cast<double>(nodes)))), 2, kMaxWidth);
  // Each stage hangs on the join of the one before, which is its split.
  std::uint32_t split = sketch.add_random("split", kForkJoinSplitWork, rng);
  while (sketch.nodes.size() < nodes) {
    const std::size_t left = nodes - sketch.nodes.size();
    std::size_t chain = 1 + rng.below(kMaxChain);
    std::size_t width = 2 + rng.below(usual_width);
    if (left < 3) {  // too few for two branches and a join: a plain chain ends the graph
      width = 1;
      chain = left - 1;
    } else if (width * chain + 1 > left || left - (width * chain + 1) < 3) {  // the last stage
      chain = 1;
      width = left - 1;
    }
    std::vector<std::uint32_t> ends;
    for (std::size_t branch = 0; branch < width; ++branch) {
      std::uint32_t last = split;
      for (std::size_t i = 0; i < chain; ++i) {
        const std::uint32_t node = sketch.add_random("map", kMapWork, rng);
        sketch.connect(last, node);
        last = node;
      }
      ends.push_back(last);
    }
    const std::uint32_t join = sketch.add_random("join", kJoinWork, rng);
    for (const std::uint32_t end : ends) sketch.connect(end, join);
    split = join;
  }
  return sketch;
}

}  // namespace doppler::graph
