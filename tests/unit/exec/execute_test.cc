#include "doppler/exec/execute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "doppler/device/spec.h"
#include "doppler/tra/computation.h"
#include "doppler/tra/operations.h"
#include "support/errors.h"
#include "support/graphs.h"
#include "support/lowered.h"

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

// A run has three samples: two nodes and a transfer.
TEST(Profile, HasAsManySamplesAsItMay) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 1.0}, {"b", 1.0}}, {{"a", "b"}}, 1.0), 2, cost::LinkMode::kChannel);
  Profile profile(*problem, 6);
  profile.add(timeline_of(1.0, 1.0, DeviceId(0)));
  EXPECT_NO_THROW(profile.add(timeline_of(1.0, 1.0, DeviceId(0))));
  EXPECT_THAT(
      test::error_of<ParameterError>([&] { profile.add(timeline_of(1.0, 1.0, DeviceId(0))); }),
      testing::HasSubstr("a profile of more than 2 runs of this graph takes too much memory"));
}

TEST(Profile, TimesHaveNineDigits) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 1.0}, {"b", 1.0}}, {{"a", "b"}}, 1.0), 2, cost::LinkMode::kChannel);
  Profile profile(*problem);
  profile.add(timeline_of(1.0 / 3.0, 1.0, DeviceId(0)));
  EXPECT_EQ(profile.costs().nodes[0].seconds, 0.333333333);
}

// Runs the graph on two cores with everything on the first, and checks all runs.
ExecuteResult checked_runs(graph::Graph graph, int warmup, int runs, StopToken stop = {}) {
  const auto problem = std::make_shared<const cost::Problem>(
      std::make_shared<const graph::Graph>(std::move(graph)),
      std::make_shared<const device::Topology>(device::topology_from_spec("cpu:2")));
  const schedule::Placement placement =
      schedule::with_b_levels(*problem, std::vector<DeviceId>(problem->node_count(), DeviceId(0)));
  ExecuteSettings settings;
  settings.runs = runs;
  settings.warmup = warmup;
  settings.check = true;
  settings.stop = stop;
  return execute(problem, placement, settings);
}

// Adam divides by roots of moments, which are never negative in a training.
TEST(Execute, EveryStepOfAnAdamTrainingIsWhatTheSerialRunnerComputes) {
  compile::FoundPlan compiled = test::compile_program(
      test::small_program("classifier"),
      {.parts = tra::Parts{{"batch", 2}}, .train = true, .optimizer = tra::Optimizer::kAdam});
  const ExecuteResult result = checked_runs(std::move(compiled.lowered.graph), 1, 4);
  EXPECT_FALSE(result.different) << result.different->tensor;
  EXPECT_GT(result.checked.value_or(0), 4u);
}

// The run itself takes place, but nothing may be said of results that were not compared.
TEST(Execute, AStoppedComparisonDoesNotPass) {
  compile::FoundPlan compiled =
      test::compile_program(test::small_program("classifier"), {.parts = tra::Parts{{"batch", 2}}});
  std::atomic<bool> flag = true;
  EXPECT_THAT(test::error_of<RunError>(
                  [&] { checked_runs(std::move(compiled.lowered.graph), 1, 4, StopToken(&flag)); }),
              testing::HasSubstr("interrupted before the results of a run were compared"));
}

// s starts between -0.1 and 0.1 and loses 1 in every run; the root of s + 1.5 has NaN from the
// third run on, which is the first to fail: NaN equals nothing, and no run goes unchecked.
TEST(Execute, NanFailsTheCheckInWhicheverRunItComes) {
  const tra::Relation s = tra::input("s", {.keys = {}, .dimensions = {{.name = "i", .size = 3}}},
                                     tra::InputRole::kParameter);
  const tra::Relation less = tra::named(tra::shift(s, -1.0), "less");
  const tra::Relation more = tra::named(tra::shift(s, 1.5), "more");
  const tra::Relation root = tra::named(tra::apply("sqrt", more), "root");
  const std::vector<tra::Root> roots = {{root, "root"}, {less, "less", s}};
  const auto graph = [&] {
    return std::move(tra::lower(roots, kernel::default_kernels(), "late").graph);
  };
  EXPECT_FALSE(checked_runs(graph(), 0, 2).different);
  const ExecuteResult result = checked_runs(graph(), 1, 4);
  ASSERT_TRUE(result.different);
  EXPECT_EQ(result.different->tensor, "root");
  EXPECT_EQ(result.different->run, 3);
  EXPECT_TRUE(result.different->has_nan);
  EXPECT_EQ(result.runs, 4);
}

// A loss that is due about when the run ends comes in the run or not at all: never between the run
// and the comparison of its results.
TEST(Execute, ALossThatIsDueAsTheRunEndsLeavesItsResults) {
  compile::FoundPlan compiled =
      test::compile_program(test::small_program("classifier"), {.parts = tra::Parts{{"batch", 2}}});
  const auto problem = std::make_shared<const cost::Problem>(
      std::make_shared<const graph::Graph>(std::move(compiled.lowered.graph)),
      std::make_shared<const device::Topology>(device::topology_from_spec("cpu:2")));
  std::vector<DeviceId> devices(problem->node_count());
  for (std::size_t v = 0; v < devices.size(); ++v) devices[v] = DeviceId::of(v % 2);
  const schedule::Placement placement = schedule::with_b_levels(*problem, devices);
  ExecuteSettings settings;
  settings.warmup = 0;
  settings.check = true;
  settings.replace = [](const cost::Problem& remaining) {
    std::vector<DeviceId> device;
    for (std::size_t v = 0; v < remaining.node_count(); ++v) {
      device.push_back(remaining.allowed_devices(NodeId::of(v)).front());
    }
    return schedule::with_b_levels(remaining, std::move(device));
  };
  std::size_t in_time = 0;
  double seconds = execute(problem, placement, settings).median;
  constexpr int kRounds = 150;
  for (int round = 0; round < kRounds; ++round) {
    settings.losses = {{problem->topology().device(DeviceId(1)).name, seconds}};
    const ExecuteResult result = execute(problem, placement, settings);
    EXPECT_FALSE(result.different) << round << ": " << result.different->tensor;
    in_time += result.lost.size();
    // Towards the end of the run from either side.
    seconds *= result.lost.empty() ? 0.97 : 1.03;
  }
  EXPECT_GT(in_time, 0u);
  EXPECT_LT(in_time, static_cast<std::size_t>(kRounds));
}

}  // namespace
}  // namespace doppler::exec
