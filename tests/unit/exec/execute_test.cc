#include "doppler/exec/execute.h"

#include <gtest/gtest.h>

#include "support/graphs.h"

namespace doppler::exec {
namespace {

// a -> b on two devices of one kind; `a` takes `first`, and its transfer `second`.
schedule::Timeline timeline_of(double first, double second, DeviceId place_of_a) {
  const DeviceId other(place_of_a == DeviceId(0) ? 1u : 0u);
  return {.makespan = first + second + 1.0,
          .device = {place_of_a, other},
          .priority = {1.0, 0.0},
          .nodes = {{0.0, first}, {first + second, first + second + 1.0}},
          .transfers = {{.tensor = TensorId(0),
                         .consumer = {},
                         .from = place_of_a,
                         .to = other,
                         .start = first,
                         .end = first + second}}};
}

// Of times 1, 2, 3, 4 and 10 the longest and the shortest do not count, so that the mean is 3; the
// quartiles are 2 and 4, on both devices together.
TEST(Profile, MediansAndQuartilesByKind) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 1.0}, {"b", 1.0}}, {{"a", "b"}}, 1.0), 2, cost::LinkMode::kChannel);
  Profile profile(*problem);
  for (const double time : {10.0, 1.0, 3.0}) profile.add(timeline_of(time, 2.0, DeviceId(0)));
  for (const double time : {2.0, 4.0}) profile.add(timeline_of(time, 5.0, DeviceId(1)));
  const cost::MeasuredCosts costs = profile.costs();
  EXPECT_EQ(costs.graph_hash, problem->graph().hash());
  EXPECT_EQ(costs.runs, 5);
  ASSERT_EQ(costs.nodes.size(), 2u);
  EXPECT_EQ(costs.kinds[costs.nodes[0].kind], "uniform");
  EXPECT_EQ(costs.nodes[0].seconds, 3.0);
  EXPECT_EQ(costs.nodes[0].spread, 2.0);
  EXPECT_EQ(costs.nodes[1].seconds, 1.0);
  ASSERT_EQ(costs.transfers.size(), 2u);
  EXPECT_EQ(costs.transfers[0].from, "d0");
  EXPECT_EQ(costs.transfers[0].seconds, 2.0);
  EXPECT_EQ(costs.transfers[1].from, "d1");
  EXPECT_EQ(costs.transfers[1].seconds, 5.0);
  EXPECT_FALSE(costs.transfers[0].link);  // its time is given
}

TEST(Profile, TimesHaveNineDigits) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 1.0}, {"b", 1.0}}, {{"a", "b"}}, 1.0), 2, cost::LinkMode::kChannel);
  Profile profile(*problem);
  profile.add(timeline_of(1.0 / 3.0, 1.0, DeviceId(0)));
  EXPECT_EQ(profile.costs().nodes[0].seconds, 0.333333333);
}

}  // namespace
}  // namespace doppler::exec
