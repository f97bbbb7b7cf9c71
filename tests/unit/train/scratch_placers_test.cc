#include "doppler/train/placers/policy_placer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/sim/simulator.h"
#include "support/graphs.h"
#include "support/place_support.h"

namespace doppler::train {
namespace {

TEST(ScratchPlacers, ObeyConstraintsAndRepeatThemselves) {
  for (const auto& placer : make_scratch_placers()) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      SCOPED_TRACE(testing::Message() << placer->name() << ", seed " << seed);
      const auto problem = test::random_problem({.nodes = 4 + 2 * seed,
                                                 .devices = 1 + seed % 4,
                                                 .kinds = 1,
                                                 .constraints = true,
                                                 .homes = true},
                                                seed);
      const place::PlaceResult one =
          placer->place(*problem, {.seed = seed, .max_evaluations = 40, .threads = 1});
      schedule::check_placement(*problem, one.placement);
      EXPECT_LE(one.evaluations, 40u);
      const place::PlaceResult three =
          placer->place(*problem, {.seed = seed, .max_evaluations = one.evaluations, .threads = 3});
      EXPECT_EQ(one.placement, three.placement);
      EXPECT_EQ(one.evaluations, three.evaluations);
    }
  }
}

TEST(ScratchPlacers, CountTheRunsOfStochasticObjectives) {
  const auto problem = test::random_problem({.nodes = 8, .devices = 2}, 3);
  for (const auto& placer : make_scratch_placers()) {
    const place::PlaceResult placed = placer->place(
        *problem, {.objective = schedule::Objective::kAnyOrder, .max_evaluations = 200});
    EXPECT_EQ(placed.evaluations, 200u);  // 25 episodes of 8 runs
    EXPECT_EQ(placed.note, "best of 25 episodes");
  }
}

// A chain has no use for a second device.
TEST(ScratchPlacers, LearnToLeaveAChainOnOneDevice) {
  std::vector<test::TestNode> nodes;
  std::vector<test::TestEdge> edges;
  for (int i = 0; i < 10; ++i) {
    nodes.push_back({std::to_string(i), 1.0});
    if (i > 0) edges.push_back({std::to_string(i - 1), std::to_string(i)});
  }
  const auto problem =
      test::uniform_problem(test::simple_graph(nodes, edges, 2.0), 3, cost::LinkMode::kFree);
  for (const auto& placer : make_scratch_placers()) {
    const place::PlaceResult placed = placer->place(*problem, {.max_evaluations = 4000});
    EXPECT_EQ(sim::Simulator(*problem).makespan(placed.placement, cost::kInfinity), 10.0)
        << placer->name();
  }
}

TEST(ScratchPlacers, StopWhenTold) {
  const auto problem = test::random_problem({.nodes = 30, .devices = 4}, 3);
  for (const auto& placer : make_scratch_placers()) {
    const place::PlaceResult placed =
        placer->place(*problem, {.stop = StopToken::after_seconds(0.0)});
    EXPECT_EQ(placed.evaluations, 1u);
  }
}

}  // namespace
}  // namespace doppler::train
