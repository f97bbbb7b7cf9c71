// The critical chain of simulated runs: covers them from 0 to the makespan, and in a
// work-conserving run nothing on it idles.
#include <gtest/gtest.h>

#include "doppler/base/rng.h"
#include "doppler/schedule/critical_chain.h"
#include "doppler/sim/simulator.h"
#include "support/graphs.h"

namespace doppler::schedule {
namespace {

void expect_cover(const Timeline& timeline, const CriticalChain& chain) {
  ASSERT_FALSE(chain.steps.empty());
  EXPECT_EQ(chain.steps.front().begin, 0.0);
  EXPECT_EQ(chain.steps.back().end, timeline.makespan);
  for (std::size_t i = 1; i < chain.steps.size(); ++i) {
    EXPECT_EQ(chain.steps[i].begin, chain.steps[i - 1].end) << "step " << i;
  }
  EXPECT_NEAR(chain.compute + chain.transfer + chain.waiting(), timeline.makespan,
              1e-9 * (1.0 + timeline.makespan));
}

TEST(CriticalChainProperty, SimulatedRunsAreCoveredWithoutIdling) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto problem = test::uniform_problem(
        test::random_graph(
            {.nodes = 3 + seed % 50, .zero_costs = seed % 3 == 0, .several_outputs = seed % 5 == 0},
            seed),
        1 + seed % 4, seed % 2 == 0 ? cost::LinkMode::kFree : cost::LinkMode::kChannel);
    Rng rng = Rng::stream(seed, 11);
    std::vector<DeviceId> device;
    for (std::size_t v = 0; v < problem->node_count(); ++v) {
      device.push_back(DeviceId(rng.below(static_cast<std::uint32_t>(problem->device_count()))));
    }
    const Placement placement = with_b_levels(*problem, std::move(device));
    sim::Simulator simulator(*problem);
    for (const Choice choice : {Choice::kPriority, Choice::kFifo, Choice::kRandom}) {
      const sim::RunOptions options{
          .choice = choice, .jitter = seed % 7 == 0 ? 0.1 : 0.0, .seed = seed};
      Timeline timeline;
      simulator.timeline(placement, options, timeline);
      const CriticalChain chain = critical_chain(*problem, timeline);
      expect_cover(timeline, chain);
      EXPECT_EQ(chain.idle, 0.0);

      const Timeline synchronous = sim::run_synchronous(*problem, placement, 0.25, options);
      expect_cover(synchronous, critical_chain(*problem, synchronous));
    }
  }
}

}  // namespace
}  // namespace doppler::schedule
