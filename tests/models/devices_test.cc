// Devices of different kinds, and inputs, parameters and updates with and without a home, by hand.
#include <gtest/gtest.h>

#include "doppler/base/error.h"
#include "support/checked_run.h"
#include "support/graphs.h"

namespace doppler::test {
namespace {

using cost::LinkMode;
using graph::TensorRole;

TEST(Devices, KindsHaveTheirOwnTimes) {
  // a takes 1 on a fast and 3 on a slow device, b takes 2 on any; 20 bytes at 10 B/s take 2.
  graph::GraphBuilder builder;
  const NodeId a = builder.add_node({.name = "a", .times_by_kind = {{"fast", 1.0}, {"slow", 3.0}}});
  const NodeId b = builder.add_node({.name = "b", .time = 2.0});
  builder.connect(builder.add_output(a, 20.0), b);
  device::TopologySpec pair;
  pair.kinds = {{.name = "fast"}, {.name = "slow"}};
  pair.devices = {{.name = "f", .kind = 0}, {.name = "s", .kind = 1}};
  pair.pairwise_links = device::Channel{.name = "link", .bandwidth = 10.0};
  const auto problem = make_problem(std::move(builder).build(), pair);
  EXPECT_EQ(checked_run(*problem, place(*problem, {{"a", "f"}, {"b", "f"}})).makespan, 3);
  EXPECT_EQ(checked_run(*problem, place(*problem, {{"a", "s"}, {"b", "s"}})).makespan, 5);
  EXPECT_EQ(checked_run(*problem, place(*problem, {{"a", "s"}, {"b", "f"}})).makespan, 3 + 2 + 2);
}

// One input or parameter x and its consumers, each of time 1; moving x takes 3.
std::shared_ptr<const cost::Problem> with_given(const std::string& home,
                                                const std::vector<std::string>& consumers,
                                                LinkMode links) {
  graph::GraphBuilder builder;
  const TensorId x = builder.add_tensor(
      {.name = "x", .role = TensorRole::kInput, .transfer_time = 3.0, .home = home});
  for (const std::string& name : consumers) {
    builder.connect(x, builder.add_node({.name = name, .time = 1.0}));
  }
  return uniform_problem(std::move(builder).build(), 2, links);
}

TEST(Homes, InputsWithoutAHomeCostNothing) {
  for (const LinkMode links : kLinkModes) {
    const auto problem = with_given("", {"a", "b"}, links);
    const auto run = checked_run(*problem, place(*problem, {{"a", "d0"}, {"b", "d1"}}));
    EXPECT_TRUE(run.transfers.empty());
    EXPECT_EQ(run.makespan, 1);
  }
}

TEST(Homes, InputsMoveFromTheirHomeFromTimeZero) {
  for (const LinkMode links : kLinkModes) {
    // a at home 0-1; b on d1 waits for the transfer 0-3: 3-4, c after it 4-5.
    const auto problem = with_given("d0", {"a", "b", "c"}, links);
    const auto run =
        checked_run(*problem, place(*problem, {{"a", "d0"}, {"b", "d1"}, {"c", "d1"}}));
    EXPECT_EQ(run_of(*problem, run, "a").start, 0);
    EXPECT_EQ(transfer_of(*problem, run, "x", "d1").start, 0);
    EXPECT_EQ(run_of(*problem, run, "b").start, 3);
    EXPECT_EQ(run_of(*problem, run, "c").start, 4);
    EXPECT_EQ(run.transfers.size(), links == LinkMode::kChannel ? 1u : 2u);
  }
}

TEST(Homes, MovesCompeteForTheChannel) {
  // x and y, both at home on d0, go to a and b on d1. b is better, so y 0-3, x 3-6: b 3-4, a 6-7.
  // Free links: both arrive at 3.
  graph::GraphBuilder builder;
  const NodeId a = builder.add_node({.name = "a", .time = 1.0});
  const NodeId b = builder.add_node({.name = "b", .time = 1.0});
  for (const auto& [name, node] : {std::pair("x", a), std::pair("y", b)}) {
    builder.connect(
        builder.add_tensor(
            {.name = name, .role = TensorRole::kParameter, .transfer_time = 3.0, .home = "d0"}),
        node);
  }
  const graph::Graph graph = std::move(builder).build();
  const auto channel = uniform_problem(graph, 2, LinkMode::kChannel);
  const auto placement = place(*channel, {{"a", "d1"}, {"b", "d1"}}, {"b", "a"});
  const auto run = checked_run(*channel, placement);
  EXPECT_EQ(run_of(*channel, run, "b").start, 3);
  EXPECT_EQ(run_of(*channel, run, "a").start, 6);
  EXPECT_EQ(run.makespan, 7);
  const auto free = uniform_problem(graph, 2, LinkMode::kFree);
  EXPECT_EQ(checked_run(*free, placement).makespan, 5);  // b 3-4, a 4-5
}

// A training step: f(2) reads w and writes a gradient, u(1) reads w and the gradient and updates w.
// Every transfer takes 1.
graph::Graph training_step(const std::string& home, int readers) {
  graph::GraphBuilder builder;
  const TensorId w = builder.add_tensor(
      {.name = "w", .role = TensorRole::kParameter, .transfer_time = 1.0, .home = home});
  const NodeId u = builder.add_node({.name = "u", .time = 1.0});
  builder.connect(w, u);
  builder.add_tensor({.name = "w'", .producer = u, .transfer_time = 1.0, .updates = w});
  for (int i = 0; i < readers; ++i) {
    const NodeId f = builder.add_node({.name = "f" + std::to_string(i), .time = 2.0});
    builder.connect(w, f);
    builder.connect(builder.add_output(f, std::nullopt, 1.0), u);
  }
  return std::move(builder).build();
}

TEST(Updates, RunAtTheHomeOfTheirParameter) {
  for (const LinkMode links : kLinkModes) {
    // w moves to d1 0-1, f 1-3, gradient 3-4, u at w's home 4-5. Nothing is sent back.
    const auto problem = uniform_problem(training_step("d0", 1), 2, links);
    const auto run = checked_run(*problem, place(*problem, {{"u", "d0"}, {"f0", "d1"}}));
    EXPECT_EQ(run.transfers.size(), 2u);
    EXPECT_EQ(run.makespan, 5);
    EXPECT_THROW(schedule::check_placement(*problem, place(*problem, {{"u", "d1"}, {"f0", "d1"}})),
                 InfeasibleError);
  }
}

TEST(Updates, AreSentToEveryDeviceThatUsesTheParameter) {
  for (const LinkMode links : kLinkModes) {
    // w is everywhere. f0 on d1 and f1 on d2: 0-2, gradients 2-3, u on d0 3-4, the new w to d1 and
    // d2 4-5: the run ends at 5, after the last node.
    const auto problem = uniform_problem(training_step("", 2), 3, links);
    const auto run =
        checked_run(*problem, place(*problem, {{"u", "d0"}, {"f0", "d1"}, {"f1", "d2"}}));
    EXPECT_EQ(run_of(*problem, run, "u").end, 4);
    EXPECT_EQ(transfer_of(*problem, run, "w'", "d1").end, 5);
    EXPECT_EQ(transfer_of(*problem, run, "w'", "d2").end, 5);
    EXPECT_EQ(run.makespan, 5);
    // Both readers on d1: f0 0-2, f1 2-4, the last gradient 4-5, u 5-6, one delivery 6-7.
    const auto together =
        checked_run(*problem, place(*problem, {{"u", "d0"}, {"f0", "d1"}, {"f1", "d1"}}));
    EXPECT_EQ(together.transfers.size(), 3u);
    EXPECT_EQ(together.makespan, 7);
    // All on one device: nothing moves. 2 + 2 + 1.
    const auto alone =
        checked_run(*problem, place(*problem, {{"u", "d0"}, {"f0", "d0"}, {"f1", "d0"}}));
    EXPECT_TRUE(alone.transfers.empty());
    EXPECT_EQ(alone.makespan, 5);
  }
}

}  // namespace
}  // namespace doppler::test
