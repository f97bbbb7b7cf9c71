#include "doppler/policy/features/traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "doppler/base/rng.h"
#include "support/graphs.h"
#include "support/random_problems.h"

namespace doppler::policy {
namespace {

using ::testing::ElementsAre;

constexpr DeviceId kFirst(0), kSecond(1);

// Cases 3 and 4 of docs/semantics.md.
TEST(Traffic, SendsATensorOnce) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 1.0}, {"b", 1.0}, {"c", 1.0}}, {{"a", "b"}, {"a", "c"}}, 2.0), 2,
      cost::LinkMode::kChannel);
  const NodeId a(0), b(1), c(2);
  Traffic traffic(*problem, 1.0);
  traffic.begin();
  traffic.place(a, kFirst, 1.0f);
  traffic.evaluate(b);
  EXPECT_THAT(traffic.arrivals(), ElementsAre(1.0f, 3.0f));
  EXPECT_THAT(traffic.transfer_times(), ElementsAre(0.0f, 2.0f));
  traffic.place(b, kSecond, 4.0f);
  EXPECT_EQ(traffic.sent().size(), 1u);
  traffic.evaluate(c);
  EXPECT_THAT(traffic.arrivals(), ElementsAre(1.0f, 3.0f));
  EXPECT_THAT(traffic.transfer_times(), ElementsAre(0.0f, 0.0f));
  traffic.place(c, kSecond, 5.0f);
  EXPECT_TRUE(traffic.sent().empty());
}

TEST(Traffic, WaitsForTheChannel) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a1", 1.0}, {"a2", 1.0}, {"b1", 1.0}, {"b2", 1.0}, {"both", 1.0}},
                         {{"a1", "b1"}, {"a2", "b2"}, {"a1", "both"}, {"a2", "both"}}, 3.0),
      2, cost::LinkMode::kChannel);
  const NodeId a1(0), a2(1), b1(2), b2(3), both(4);
  Traffic traffic(*problem, 1.0);
  traffic.begin();
  traffic.place(a1, kFirst, 1.0f);
  traffic.place(a2, kFirst, 2.0f);
  traffic.evaluate(both);
  EXPECT_THAT(traffic.arrivals(), ElementsAre(2.0f, 7.0f)) << "one after the other";
  EXPECT_THAT(traffic.transfer_times(), ElementsAre(0.0f, 6.0f));
  traffic.evaluate(b1);
  EXPECT_THAT(traffic.arrivals(), ElementsAre(1.0f, 4.0f));
  traffic.place(b1, kSecond, 5.0f);
  traffic.evaluate(b2);
  EXPECT_THAT(traffic.arrivals(), ElementsAre(2.0f, 7.0f));
  traffic.begin();
  traffic.place(a1, kFirst, 1.0f);
  traffic.evaluate(b1);
  EXPECT_THAT(traffic.arrivals(), ElementsAre(1.0f, 4.0f)) << "begin() forgets";
}

// A channel that two transfers may use at once.
TEST(Traffic, SharesAWideChannel) {
  device::TopologySpec spec;
  spec.name = "wide";
  spec.kinds.push_back({.name = "any"});
  spec.channels.push_back({.name = "bus", .bandwidth = 1.0, .capacity = 2});
  spec.groups.push_back({.name = "all"});
  for (const char* name : {"d0", "d1"}) {
    spec.devices.push_back({.name = name, .egress = {ChannelId(0)}, .ingress = {ChannelId(0)}});
  }
  const auto problem = test::make_problem(
      test::simple_graph({{"a", 0.0}, {"b", 0.0}, {"c", 0.0}, {"x", 1.0}, {"y", 1.0}, {"z", 1.0}},
                         {{"a", "x"}, {"b", "y"}, {"c", "z"}}, 3.0),
      spec, {.costs = cost::CostSource::kGiven, .links = cost::LinkMode::kChannel});
  Traffic traffic(*problem, 1.0);
  traffic.begin();
  for (std::size_t v = 0; v < 3; ++v) traffic.place(NodeId::of(v), kFirst, 0.0f);
  const float expected[] = {3.0f, 3.0f, 6.0f};
  for (std::size_t v = 0; v < 3; ++v) {
    traffic.evaluate(NodeId::of(v + 3));
    EXPECT_THAT(traffic.arrivals(), ElementsAre(0.0f, expected[v])) << v;
    traffic.place(NodeId::of(v + 3), kSecond, expected[v] + 1.0f);
  }
}

// Never earlier than without others, and no tensor twice to a device.
TEST(Traffic, OnlyDelays) {
  int channels = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const auto problem = test::random_problem(20, seed);
    if (problem->links() != cost::LinkMode::kChannel) continue;
    ++channels;
    Rng rng(seed);
    Traffic traffic(*problem, 1.0);
    traffic.begin();
    std::vector<double> end(problem->node_count());
    std::vector<DeviceId> device(problem->node_count());
    std::set<std::pair<TensorId, DeviceId>> sent;
    for (const NodeId node : problem->graph().topological_order()) {
      traffic.evaluate(node);
      const auto allowed = problem->allowed_devices(node);
      const DeviceId to = allowed[rng.below(static_cast<std::uint32_t>(allowed.size()))];
      for (const std::uint32_t position : problem->awaited_edges(node)) {
        const cost::Problem::Edge& edge = problem->edges()[position];
        const NodeId producer = problem->graph().producer(edge.tensor);
        const DeviceId from =
            producer.valid() ? device[producer.index()] : problem->home(edge.tensor);
        const double alone = (producer.valid() ? end[producer.index()] : 0.0) +
                             (from == to ? 0.0 : problem->transfer_time(edge, from, to));
        EXPECT_GE(traffic.arrivals()[to.index()], alone * (1.0 - 1e-5));
      }
      device[node.index()] = to;
      end[node.index()] = traffic.arrivals()[to.index()] + problem->compute_time(node, to);
      traffic.place(node, to, static_cast<float>(end[node.index()]));
      for (const TensorId tensor : traffic.sent()) EXPECT_TRUE(sent.insert({tensor, to}).second);
    }
  }
  EXPECT_GT(channels, 50);
}

}  // namespace
}  // namespace doppler::policy
