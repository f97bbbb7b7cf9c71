// The fast Fourier transform as scheduling studies draw it (Topcuoglu, Hariri and Wu, 2002): a
// binary tree of recursive calls down to m = 2^k leaves, then k rounds of m butterflies, where
// butterfly i of round r reads results i and i xor 2^r of the round before. 2 m - 1 + m k ops. As
// there, all ops of a kind are alike: each works on one block of points.
#include <fmt/format.h>

#include "doppler/graph/generate/sketch.h"

namespace doppler::graph {
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

}  // namespace doppler::graph
