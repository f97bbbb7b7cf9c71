// What holds for every run of every random problem. A failure prints the seed that replays it.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "doppler/schedule/bounds.h"
#include "doppler/schedule/memory.h"
#include "support/checked_run.h"
#include "support/random_problems.h"

namespace doppler::test {
namespace {

using schedule::Choice;
using schedule::Placement;
using schedule::Timeline;

constexpr std::uint64_t kSeeds = 400;

std::size_t size_for(std::uint64_t seed) {
  return 3 + seed % 38;
}

bool same(const Timeline& a, const Timeline& b) {
  const auto same_node = [](const schedule::NodeRun& x, const schedule::NodeRun& y) {
    return x.start == y.start && x.end == y.end;
  };
  const auto same_transfer = [](const schedule::TransferRun& x, const schedule::TransferRun& y) {
    return x.tensor == y.tensor && x.consumer == y.consumer && x.from == y.from && x.to == y.to &&
           x.start == y.start && x.end == y.end;
  };
  return a.makespan == b.makespan && std::ranges::equal(a.nodes, b.nodes, same_node) &&
         std::ranges::equal(a.transfers, b.transfers, same_transfer);
}

TEST(SimulatorProperty, CheckerAcceptsEveryRun) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const auto problem = random_problem(size_for(seed), seed);
    const Placement placement = random_placement(*problem, seed);
    for (const Choice choice : {Choice::kPriority, Choice::kFifo, Choice::kRandom}) {
      for (const double jitter : {0.0, 0.2}) {
        if (jitter > 0.0 && seed % 4 != 0) continue;  // making its table takes longer than a run
        SCOPED_TRACE(fmt::format("choice {} jitter {}", static_cast<int>(choice), jitter));
        const sim::RunOptions options{.choice = choice, .jitter = jitter, .seed = seed};
        checked_run(*problem, placement, options);
        checked_synchronous_run(*problem, placement, seed % 3 == 0 ? 0.25 : 0.0, options);
      }
    }
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace doppler::test
