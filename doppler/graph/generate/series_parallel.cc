#include <algorithm>
#include <iterator>
#include <utility>

#include "doppler/graph/generate/sketch.h"

namespace doppler::graph {
namespace {

constexpr double kSeriesProbability = 0.4;
constexpr std::uint32_t kMaxBranches = 4;

// A part of the graph with one entry and one exit.
struct Block {
  std::uint32_t entry;
  std::uint32_t exit;
};

class Composer {
 public:
  Composer(Sketch& sketch, Rng& rng) : sketch_(sketch), rng_(rng) {}

  // Composes `nodes` nodes. Splits are at random places, so the recursion is about as deep as a
  // random binary search tree: below a hundred levels for millions of nodes.
  Block compose(std::size_t nodes) {
    if (nodes == 1) return single("compute", 2.0);
    if (nodes <= 3 || rng_.chance(kSeriesProbability)) return series(nodes);
    return parallel(nodes);
  }

 private:
  Block single(const char* op, double work) {
    const std::uint32_t node = sketch_.add_random(op, work, rng_);
    return {node, node};
  }

  std::size_t cut(std::size_t nodes) {
    return 1 + rng_.below(static_cast<std::uint32_t>(nodes - 1));
  }

  Block series(std::size_t nodes) {
    const std::size_t first_size = cut(nodes);
    const Block first = compose(first_size);
    const Block second = compose(nodes - first_size);
    sketch_.connect(first.exit, second.entry);
    return {first.entry, second.exit};
  }

  // A split, 2 to kMaxBranches branches, a merge. REQUIRES: nodes >= 4.
  Block parallel(std::size_t nodes) {
    std::size_t left = nodes - 2;
    const std::size_t branches = std::min<std::size_t>(left, 2 + rng_.below(kMaxBranches - 1));
    const Block split = single("split", 0.25);
    std::uint32_t exits[kMaxBranches];
    for (std::size_t branch = 0; branch < branches; ++branch) {
      const std::size_t others = branches - branch - 1;
      const std::size_t size =
          others == 0 ? left : 1 + rng_.below(static_cast<std::uint32_t>(left - others));
      const Block block = compose(size);
      sketch_.connect(split.entry, block.entry);
      exits[branch] = block.exit;
      left -= size;
    }
    const Block merge = single("merge", 0.5);
    for (std::size_t branch = 0; branch < branches; ++branch) {
      sketch_.connect(exits[branch], merge.entry);
    }
    return {split.entry, merge.exit};
  }

  Sketch& sketch_;
  Rng& rng_;
};

}  // namespace

Sketch sketch_series_parallel(std::size_t nodes, Rng& rng) {
  Sketch sketch;
  sketch.nodes.reserve(nodes);
  sketch.edges.reserve(nodes * 2);
  Composer(sketch, rng).compose(nodes);
  return sketch;
}

}  // namespace doppler::graph
