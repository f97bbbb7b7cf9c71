// The families of random graphs, each with its own section: Cholesky, FFT, fork-join, layered,
// series-parallel. A section begins with the constants and helpers that only it uses.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "doppler/graph/generate/random.h"

namespace doppler::graph {

// --- Cholesky ---
//
// The right-looking tiled Cholesky factorisation of a matrix of T x T tiles, lower triangle:
//
//   for k:  potrf(k)                         factor tile (k, k)
//           trsm(i, k)      for i > k        solve for tile (i, k)
//           syrk(i, k)      for i > k        update tile (i, i) with tile (i, k)
//           gemm(i, j, k)   for i > j > k    update tile (i, j) with tiles (i, k) and (j, k)
//
// An op depends on the last op that wrote each tile it touches. There are T (T + 1) (T + 2) / 6
// ops.

namespace {

// Floating-point operations on tiles of b x b, in units of b^3.
constexpr double kPotrfWork = 1.0 / 3.0;
constexpr double kTrsmWork = 1.0;
constexpr double kSyrkWork = 1.0;
constexpr double kGemmWork = 2.0;
constexpr double kTileSize = 1.0;
constexpr double kCholeskyTimeNoise = 0.05;

std::size_t cholesky_op_count(std::size_t tiles) {
  return tiles * (tiles + 1) * (tiles + 2) / 6;
}

std::size_t nearest_tiles(std::size_t nodes) {
  std::size_t tiles = 1;
  while (cholesky_op_count(tiles + 1) <= nodes) ++tiles;
  return cholesky_op_count(tiles + 1) - nodes < nodes - cholesky_op_count(tiles) ? tiles + 1
                                                                                 : tiles;
}

}  // namespace

Sketch sketch_cholesky(std::size_t nodes) {
  const std::size_t tiles = nearest_tiles(nodes);
  Sketch sketch;
  sketch.time_noise = kCholeskyTimeNoise;
  sketch.nodes.reserve(cholesky_op_count(tiles));
  sketch.edges.reserve(cholesky_op_count(tiles) * 3);
  constexpr std::uint32_t kUntouched = 0xffffffffu;
  std::vector<std::uint32_t> writer(tiles * tiles, kUntouched);  // the last op to write each tile
  const auto tile = [&](std::size_t i, std::size_t j) -> std::uint32_t& {
    return writer[i * tiles + j];
  };
  const auto read = [&](std::uint32_t from, std::uint32_t node) {
    if (from != kUntouched) sketch.connect(from, node);
  };
  const auto update = [&](std::uint32_t& written, std::uint32_t node) {
    read(written, node);
    written = node;
  };
  for (std::size_t k = 0; k < tiles; ++k) {
    update(tile(k, k), sketch.add(fmt::format("potrf.{}", k), "potrf", kPotrfWork, kTileSize));
    for (std::size_t i = k + 1; i < tiles; ++i) {
      const auto node = sketch.add(fmt::format("trsm.{}.{}", i, k), "trsm", kTrsmWork, kTileSize);
      read(tile(k, k), node);
      update(tile(i, k), node);
    }
    for (std::size_t i = k + 1; i < tiles; ++i) {
      const auto syrk = sketch.add(fmt::format("syrk.{}.{}", i, k), "syrk", kSyrkWork, kTileSize);
      read(tile(i, k), syrk);
      update(tile(i, i), syrk);
      for (std::size_t j = k + 1; j < i; ++j) {
        const auto gemm =
            sketch.add(fmt::format("gemm.{}.{}.{}", i, j, k), "gemm", kGemmWork, kTileSize);
        read(tile(i, k), gemm);
        read(tile(j, k), gemm);
        update(tile(i, j), gemm);
      }
    }
  }
  return sketch;
}

// --- FFT ---
//
// The fast Fourier transform as scheduling studies draw it (Topcuoglu, Hariri and Wu, 2002): a
// binary tree of recursive calls down to m = 2^k leaves, then k rounds of m butterflies, where
// butterfly i of round r reads results i and i xor 2^r of the round before. There are 2 m - 1 + m k
// ops. As in those studies, all ops of a kind are alike: each works on one block of points.

namespace {

// Per point: a butterfly takes 10 operations for 2 complex points; a call sorts even from odd
// points, taken as one operation each.
constexpr double kFftSplitWork = 1.0;
constexpr double kButterflyWork = 5.0;
constexpr double kBlockSize = 1.0;
constexpr double kFftTimeNoise = 0.05;

std::size_t fft_op_count(std::size_t rounds) {
  const std::size_t leaves = std::size_t{1} << rounds;
  return 2 * leaves - 1 + leaves * rounds;
}

std::size_t nearest_rounds(std::size_t nodes) {
  std::size_t rounds = 0;
  while (fft_op_count(rounds + 1) <= nodes) ++rounds;
  return fft_op_count(rounds + 1) - nodes < nodes - fft_op_count(rounds) ? rounds + 1 : rounds;
}

}  // namespace

Sketch sketch_fft(std::size_t nodes) {
  const std::size_t rounds = nearest_rounds(nodes);
  const auto leaves = static_cast<std::uint32_t>(std::size_t{1} << rounds);
  Sketch sketch;
  sketch.time_noise = kFftTimeNoise;
  sketch.nodes.reserve(fft_op_count(rounds));
  sketch.edges.reserve(2 * fft_op_count(rounds));
  // The calls are numbered as in a heap: call c makes the calls 2 c + 1 and 2 c + 2.
  for (std::uint32_t call = 0; call < 2 * leaves - 1; ++call) {
    sketch.add(fmt::format("split.{}", call), "split", kFftSplitWork, kBlockSize);
    if (call > 0) sketch.connect((call - 1) / 2, call);
  }
  std::uint32_t last_round = leaves - 1;  // the first leaf
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto begin = static_cast<std::uint32_t>(sketch.nodes.size());
    for (std::uint32_t i = 0; i < leaves; ++i) {
      const std::uint32_t node = sketch.add(fmt::format("butterfly.{}.{}", round, i), "butterfly",
                                            kButterflyWork, kBlockSize);
      sketch.connect(last_round + i, node);
      sketch.connect(last_round + (i ^ (1u << round)), node);
    }
    last_round = begin;
  }
  return sketch;
}

// --- fork-join ---
//
// Stages of parallel chains. The join of a stage is the split of the next.

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

// --- layered ---
//
// Layers of random width, whose nodes read one result of the layer before and some of the last few
// layers.

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

// --- series-parallel ---
//
// A random nesting of series and parallel composition.

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

  // Adds a block of `nodes` nodes. It is cut at random places, so the recursion is about as deep as
  // a random binary search tree: below a hundred levels for millions of nodes.
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

  // Adds a split, 2 to kMaxBranches branches and a merge. REQUIRES: nodes >= 4.
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
