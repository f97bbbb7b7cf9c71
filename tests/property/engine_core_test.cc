// The engine's core on a virtual clock against the simulator: both were written from
// docs/semantics.md and share no code, so what they agree on is what the page says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/exec/core.h"
#include "doppler/exec/pace.h"
#include "doppler/exec/virtual_run.h"
#include "doppler/schedule/checker.h"
#include "doppler/sim/simulator.h"
#include "support/random_problems.h"

namespace doppler::exec {
namespace {

TEST(EngineCore, RunsLikeTheSimulator) {
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE(seed);
    const auto problem = test::random_problem(2 + seed % 40, seed);
    const schedule::Placement placement = test::random_placement(*problem, seed);
    const Wiring wiring(*problem, placement);
    const Pace pace(*problem);
    for (const auto choice : {schedule::Choice::kPriority, schedule::Choice::kFifo}) {
      Core core(*problem, placement, wiring, choice);
      const schedule::Timeline mine =
          run_virtually(*problem, placement, wiring, core, choice, pace, seed);
      schedule::Timeline theirs;
      sim::Simulator(*problem).timeline(placement, {.choice = choice}, theirs);
      ASSERT_EQ(mine.makespan, theirs.makespan);
      for (std::size_t v = 0; v < problem->node_count(); ++v) {
        ASSERT_EQ(mine.nodes[v].start, theirs.nodes[v].start) << "node " << v;
        ASSERT_EQ(mine.nodes[v].end, theirs.nodes[v].end) << "node " << v;
      }
      ASSERT_EQ(mine.transfers.size(), theirs.transfers.size());
    }
  }
}

TEST(EngineCore, RandomRunsObeyTheRules) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    const auto problem = test::random_problem(2 + seed % 40, seed);
    const schedule::Placement placement = test::random_placement(*problem, seed);
    const Wiring wiring(*problem, placement);
    Core core(*problem, placement, wiring, schedule::Choice::kRandom);
    const schedule::Timeline timeline = run_virtually(
        *problem, placement, wiring, core, schedule::Choice::kRandom, Pace(*problem), seed);
    EXPECT_THAT(schedule::check_timeline(*problem, timeline), testing::IsEmpty());
  }
}

}  // namespace
}  // namespace doppler::exec
