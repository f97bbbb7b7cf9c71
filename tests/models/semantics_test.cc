// The cases worked by hand in docs/semantics.md. d0 and d1 are identical; transfers take the time
// that is given in the graph.
#include <gtest/gtest.h>

#include "doppler/schedule/memory.h"
#include "support/checked_run.h"
#include "support/graphs.h"

namespace doppler::test {
namespace {

using cost::LinkMode;

double makespan(const cost::Problem& problem,
                const std::vector<std::pair<std::string, std::string>>& assignment) {
  return checked_run(problem, place(problem, assignment)).makespan;
}

TEST(Semantics, Case1OneEdge) {
  for (const LinkMode links : kLinkModes) {
    const auto problem =
        uniform_problem(simple_graph({{"a", 1}, {"b", 1}}, {{"a", "b"}}, 3), 2, links);
    EXPECT_EQ(makespan(*problem, {{"a", "d0"}, {"b", "d0"}}), 2);
    EXPECT_EQ(makespan(*problem, {{"a", "d0"}, {"b", "d1"}}), 1 + 3 + 1);
  }
}

TEST(Semantics, Case2ForkToBothDevices) {
  for (const LinkMode links : kLinkModes) {
    const auto problem = uniform_problem(
        simple_graph({{"a", 1}, {"b", 1}, {"c", 1}}, {{"a", "b"}, {"a", "c"}}, 2), 2, links);
    const auto run =
        checked_run(*problem, place(*problem, {{"a", "d0"}, {"b", "d0"}, {"c", "d1"}}));
    EXPECT_EQ(run_of(*problem, run, "b").end, 2);
    EXPECT_EQ(run_of(*problem, run, "c").start, 3);
    EXPECT_EQ(run.makespan, 4);
  }
}

TEST(Semantics, Case3OneTransferForTwoConsumers) {
  for (const LinkMode links : kLinkModes) {
    const auto problem = uniform_problem(
        simple_graph({{"a", 1}, {"b", 1}, {"c", 1}}, {{"a", "b"}, {"a", "c"}}, 2), 2, links);
    const auto run =
        checked_run(*problem, place(*problem, {{"a", "d0"}, {"b", "d1"}, {"c", "d1"}}));
    EXPECT_EQ(run.transfers.size(), links == LinkMode::kChannel ? 1u : 2u);
    EXPECT_EQ(transfer_of(*problem, run, "a", "d1").start, 1);
    EXPECT_EQ(transfer_of(*problem, run, "a", "d1").end, 3);
    EXPECT_EQ(run_of(*problem, run, "b").start, 3);
    EXPECT_EQ(run_of(*problem, run, "c").start, 4);
    EXPECT_EQ(run.makespan, 5);
  }
}

TEST(Semantics, Case4ChannelsHoldOneTransferAtATime) {
  const graph::Graph graph =
      simple_graph({{"a1", 1}, {"a2", 1}, {"b1", 1}, {"b2", 1}}, {{"a1", "b1"}, {"a2", "b2"}}, 3);
  const std::vector<std::pair<std::string, std::string>> assignment = {
      {"a1", "d0"}, {"a2", "d0"}, {"b1", "d1"}, {"b2", "d1"}};
  const auto channel = uniform_problem(graph, 2, LinkMode::kChannel);
  const auto run = checked_run(*channel, place(*channel, assignment));
  EXPECT_EQ(transfer_of(*channel, run, "a1", "d1").start, 1);
  EXPECT_EQ(transfer_of(*channel, run, "a2", "d1").start, 4);
  EXPECT_EQ(run_of(*channel, run, "b1").start, 4);
  EXPECT_EQ(run_of(*channel, run, "b2").start, 7);
  EXPECT_EQ(run.makespan, 8);
  const auto free = uniform_problem(graph, 2, LinkMode::kFree);
  EXPECT_EQ(makespan(*free, assignment), 6);  // arrivals 4 and 5, b1 4-5, b2 5-6
}

TEST(Semantics, Case5NoBarriers) {
  for (const LinkMode links : kLinkModes) {
    const auto problem =
        uniform_problem(simple_graph({{"a", 1}, {"b", 4}, {"c", 1}}, {{"a", "c"}}, 0), 2, links);
    const auto placement = place(*problem, {{"a", "d0"}, {"b", "d1"}, {"c", "d0"}});
    EXPECT_EQ(checked_run(*problem, placement).makespan, 4);
    EXPECT_EQ(checked_synchronous_run(*problem, placement).makespan, 5);  // c runs 4-5
    // A barrier of 0.5, twice per level: nodes of level 0 from 0.5 to 4.5, c from 5.5 to 6.5.
    EXPECT_EQ(checked_synchronous_run(*problem, placement, 0.5).makespan, 7);
  }
}

TEST(Semantics, Case6PrioritiesAreBLevels) {
  for (const LinkMode links : kLinkModes) {
    const auto problem = uniform_problem(
        simple_graph({{"x", 2}, {"y", 1}, {"z", 3}, {"w", 2}}, {{"z", "w"}}, 0), 2, links);
    const auto one = place(*problem, {{"x", "d0"}, {"y", "d0"}, {"z", "d0"}, {"w", "d0"}});
    EXPECT_EQ(one.priority, (std::vector<double>{2, 1, 5, 2}));
    const auto run = checked_run(*problem, one);
    EXPECT_EQ(run_of(*problem, run, "z").start, 0);
    EXPECT_EQ(run_of(*problem, run, "x").start, 3);  // ties with w, lower id
    EXPECT_EQ(run_of(*problem, run, "w").start, 5);
    EXPECT_EQ(run_of(*problem, run, "y").start, 7);
    EXPECT_EQ(run.makespan, 8);
    const auto two = checked_run(
        *problem, place(*problem, {{"x", "d0"}, {"y", "d0"}, {"z", "d0"}, {"w", "d1"}}));
    EXPECT_EQ(run_of(*problem, two, "w").start, 3);
    EXPECT_EQ(two.makespan, 6);
  }
}

TEST(Semantics, Case7Memory) {
  graph::GraphBuilder builder;
  const NodeId a = builder.add_node({.name = "a", .time = 1.0});
  const NodeId b = builder.add_node({.name = "b", .time = 1.0});
  const NodeId c = builder.add_node({.name = "c", .time = 1.0});
  builder.connect(builder.add_output(a, 10.0), b);
  builder.connect(builder.add_output(b, 5.0), c);
  builder.add_output(c, 1.0);
  const auto problem = uniform_problem(std::move(builder).build(), 1, LinkMode::kFree);
  const auto run = checked_run(*problem, place(*problem, {{"a", "d0"}, {"b", "d0"}, {"c", "d0"}}));
  schedule::MemoryMeter meter(*problem);
  meter.measure(run);
  EXPECT_EQ(meter.peak_bytes()[0], 10 + 5);  // while b runs; while c runs it is 5 + 1
  EXPECT_EQ(meter.peak_time()[0], 1);
}

TEST(Semantics, Case8ZeroDurations) {
  for (const LinkMode links : kLinkModes) {
    const auto problem = uniform_problem(
        simple_graph({{"a", 0}, {"b", 0}, {"c", 1}}, {{"a", "b"}, {"b", "c"}}, 0), 2, links);
    for (const char* where : {"d0", "d1"}) {  // b elsewhere, with transfers that take no time
      const auto run =
          checked_run(*problem, place(*problem, {{"a", "d0"}, {"b", where}, {"c", "d0"}}));
      for (const char* node : {"a", "b", "c"}) EXPECT_EQ(run_of(*problem, run, node).start, 0);
      EXPECT_EQ(run.makespan, 1);
    }
  }
}

// All devices free at an instant choose before anything of zero duration that starts then ends:
// x is better than y, but only there once a has ended, and by then d1 has taken y.
TEST(Semantics, DevicesChooseTogetherBeforeZeroDurationsEnd) {
  for (const LinkMode links : kLinkModes) {
    const auto problem =
        uniform_problem(simple_graph({{"a", 0}, {"x", 5}, {"y", 3}}, {{"a", "x"}}, 0), 2, links);
    const auto run =
        checked_run(*problem, place(*problem, {{"a", "d0"}, {"x", "d1"}, {"y", "d1"}}));
    EXPECT_EQ(run_of(*problem, run, "y").start, 0);
    EXPECT_EQ(run_of(*problem, run, "x").start, 3);
    EXPECT_EQ(run.makespan, 8);
  }
}

}  // namespace
}  // namespace doppler::test
