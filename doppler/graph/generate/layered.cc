#include <algorithm>
#include <cmath>
#include <iterator>

#include "doppler/graph/generate/sketch.h"

namespace doppler::graph {
namespace {

struct OpKind {
  const char* name;
  double work;
};
// A mix as in neural networks: products carry most of the work, the many small ops little.
constexpr OpKind kOps[] = {{"gemm", 4.0}, {"gemm", 4.0}, {"elementwise", 1.0}, {"reduce", 0.5}};
constexpr std::uint32_t kMaxOperands = 3;
constexpr std::uint32_t kReach = 3;  // an operand comes from at most this many layers before

}  // namespace

Sketch sketch_layered(std::size_t nodes, Rng& rng) {
  Sketch sketch;
  sketch.nodes.reserve(nodes);
  sketch.edges.reserve(nodes * 2);
  const auto mean_width = std::max<std::uint32_t>(
      1, static_cast<std::uint32_t>(std::lround(std::sqrt(static_cast<double>(nodes)))));
  std::vector<std::uint32_t> layer_starts;
  std::vector<std::uint32_t> operands;
  while (sketch.nodes.size() < nodes) {
    const auto begin = static_cast<std::uint32_t>(sketch.nodes.size());
    const std::size_t width =
        std::min<std::size_t>(nodes - begin, mean_width / 2 + 1 + rng.below(mean_width));
    const std::size_t layer = layer_starts.size();
    layer_starts.push_back(begin);
    const std::uint32_t reach_start = layer < kReach ? 0 : layer_starts[layer - kReach];
    for (std::size_t i = 0; i < width; ++i) {
      const OpKind& op = kOps[rng.below(std::size(kOps))];
      const std::uint32_t node = sketch.add_random(op.name, op.work, rng);
      if (layer == 0) continue;
      // One operand from the layer before, so that the layers are the graph's levels.
      const std::uint32_t last = layer_starts[layer - 1];
      operands.assign(1, last + rng.below(begin - last));
      const std::uint32_t count = 1 + rng.below(kMaxOperands);
      while (operands.size() < count)
        operands.push_back(reach_start + rng.below(begin - reach_start));
      std::sort(operands.begin(), operands.end());
      operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
      for (const std::uint32_t operand : operands) sketch.connect(operand, node);
    }
  }
  return sketch;
}

}  // namespace doppler::graph
