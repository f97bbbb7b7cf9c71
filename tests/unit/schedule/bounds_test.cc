#include "doppler/schedule/bounds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/brute_force.h"
#include "support/graphs.h"
#include "support/random_problems.h"

namespace doppler::schedule {
namespace {

using cost::LinkMode;
using test::simple_graph;
using test::uniform_problem;

TEST(Bounds, LoadAndChain) {
  // Work 2 + 3 + 4 + 1 = 10 on 4 devices: 2.5, but the 4 alone takes 4. Chain a, c, e: 2 + 4 + 1
  // = 7.
  const graph::Graph graph =
      simple_graph({{"a", 2}, {"b", 3}, {"c", 4}, {"e", 1}}, {{"a", "c"}, {"c", "e"}}, 9);
  const auto four = uniform_problem(graph, 4, LinkMode::kFree);
  EXPECT_EQ(load_bound(*four).value, 4);
  EXPECT_EQ(chain_bound(*four).value, 7);
  EXPECT_EQ(best_bound(*four).name, "chain");
  const auto one = uniform_problem(graph, 1, LinkMode::kFree);
  EXPECT_EQ(load_bound(*one).value, 10);
  EXPECT_EQ(best_bound(*one).name, "load");
  EXPECT_EQ(best_bound(*one).value, 10);
}

TEST(Bounds, LoadBetweenHeadAndTail) {
  // s(3), then six nodes of 2, then e(3), on 2 devices. Load 18 / 2 = 9, chain 3 + 2 + 3 = 8; the
  // six run between s and e: 3 + 12 / 2 + 3 = 12.
  std::vector<test::TestNode> nodes = {{"s", 3}, {"e", 3}};
  std::vector<test::TestEdge> edges;
  for (int i = 0; i < 6; ++i) {
    const std::string name = fmt::format("m{}", i);
    nodes.push_back({name, 2});
    edges.push_back({"s", name});
    edges.push_back({name, "e"});
  }
  const auto problem = uniform_problem(simple_graph(nodes, edges, 0), 2, LinkMode::kFree);
  EXPECT_EQ(load_bound(*problem).value, 9);
  EXPECT_EQ(chain_bound(*problem).value, 8);
  const Bound best = best_bound(*problem);
  EXPECT_EQ(best.name, "load+chain");
  EXPECT_EQ(best.value, 12);
}

// `count` nodes that take 2 on a fast device and 6 on a slow one; devices of both kinds.
std::shared_ptr<const cost::Problem> two_kinds(int count, int fast, int slow,
                                               graph::Constraints constraints = {}) {
  graph::GraphBuilder builder;
  for (int i = 0; i < count; ++i) {
    builder.add_node(
        {.name = fmt::format("n{}", i), .times_by_kind = {{"fast", 2.0}, {"slow", 6.0}}});
  }
  device::TopologySpec spec;
  spec.kinds = {{.name = "fast"}, {.name = "slow"}};
  for (int i = 0; i < fast + slow; ++i) {
    spec.devices.push_back({.name = fmt::format("d{}", i), .kind = i < fast ? 0u : 1u});
  }
  spec.pairwise_links = device::Channel{.name = "link", .bandwidth = 1.0};
  return test::make_problem(std::move(builder).build(), spec,
                            {.constraints = std::move(constraints)});
}

TEST(Bounds, FractionalLoadOfTwoKinds) {
  // Fast devices do 1/2 node per unit of time, slow ones 1/6: 2 fast and 3 slow do 3/2, so 12 nodes
  // need 8 at least.
  EXPECT_NEAR(load_bound(*two_kinds(12, 2, 3)).value, 8.0, 1e-9);
  // One fast and one slow device: 2/3 per unit, 12 nodes need 18.
  EXPECT_NEAR(load_bound(*two_kinds(12, 1, 1)).value, 18.0, 1e-9);
}

TEST(Bounds, PinsAndColocationTightenTheLoad) {
  // Four nodes pinned to the slow device: 24, although spreading them would take less.
  graph::Constraints pins;
  for (std::uint32_t i = 0; i < 4; ++i) pins.pins.push_back({NodeId(i), "d1"});
  EXPECT_NEAR(load_bound(*two_kinds(4, 1, 1, pins)).value, 24.0, 1e-9);
  // Pinned to one of two fast devices: 8, not 4.
  for (auto& pin : pins.pins) pin.device = "d0";
  EXPECT_NEAR(load_bound(*two_kinds(4, 2, 0, pins)).value, 8.0, 1e-9);
  // Colocated: one device runs all four.
  graph::Constraints together;
  together.colocated.push_back({NodeId(0), NodeId(1), NodeId(2), NodeId(3)});
  EXPECT_EQ(load_bound(*two_kinds(4, 4, 0, together)).value, 8.0);
}

TEST(Bounds, Meets) {
  const Bound bound{"load", 100.0};
  EXPECT_TRUE(meets(100.0, bound));
  EXPECT_TRUE(meets(100.0 + 1e-8, bound));
  EXPECT_FALSE(meets(100.001, bound));
}

TEST(Bounds, NeverAboveTheOptimum) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto problem = test::random_problem(3 + seed % 3, seed);
    const double best = test::brute_force_makespan(*problem);
    for (const Bound& bound : {load_bound(*problem), chain_bound(*problem), best_bound(*problem)}) {
      EXPECT_LE(bound.value, best * (1.0 + 1e-9)) << bound.name << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace doppler::schedule
