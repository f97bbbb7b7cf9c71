#include "doppler/schedule/metrics.h"

#include <gtest/gtest.h>

#include "support/graphs.h"

namespace doppler::schedule {
namespace {

// a on d0 feeds b and c on d1, one tensor of 100 bytes, transfer time 2 (case 3 of
// docs/semantics.md).
std::shared_ptr<const cost::Problem> fan_out(cost::LinkMode links) {
  graph::GraphBuilder builder;
  const NodeId a = builder.add_node({.name = "a", .time = 1});
  const TensorId tensor = builder.add_output(a, 100.0, 2.0);
  for (const char* name : {"b", "c"}) {
    builder.connect(tensor, builder.add_node({.name = name, .time = 1}));
  }
  return test::uniform_problem(std::move(builder).build(), 3, links);
}

constexpr DeviceId kD0(0), kD1(1);

TEST(Metrics, ChannelLinks) {
  const auto problem = fan_out(cost::LinkMode::kChannel);
  const Timeline timeline{.makespan = 5,
                          .device = {kD0, kD1, kD1},
                          .priority = {3, 2, 1},
                          .nodes = {{0, 1}, {3, 4}, {4, 5}},
                          .transfers = {{TensorId(0), NodeId(), kD0, kD1, 1, 3}}};
  const Metrics metrics = measure_metrics(*problem, timeline);
  ASSERT_EQ(metrics.devices.size(), 3u);
  EXPECT_EQ(metrics.devices[0].busy, 1.0);
  EXPECT_EQ(metrics.devices[1].busy, 2.0);
  EXPECT_DOUBLE_EQ(metrics.devices[1].utilisation, 0.4);
  EXPECT_EQ(metrics.devices[2].busy, 0.0);
  EXPECT_EQ(metrics.busiest_device(), kD1);
  const ChannelId link = problem->route(kD0, kD1).front();
  EXPECT_EQ(metrics.channels[link.index()].busy, 2.0);
  EXPECT_DOUBLE_EQ(metrics.channels[link.index()].utilisation, 0.4);
  EXPECT_EQ(metrics.busiest_channel(), link);
  EXPECT_EQ(metrics.bytes_moved, 100.0);
  EXPECT_EQ(metrics.transfers, 1u);
}

TEST(Metrics, FreeLinksCountATensorOncePerDestination) {
  const auto problem = fan_out(cost::LinkMode::kFree);
  const Timeline timeline{.makespan = 5,
                          .device = {kD0, kD1, kD1},
                          .priority = {3, 2, 1},
                          .nodes = {{0, 1}, {3, 4}, {4, 5}},
                          .transfers = {{TensorId(0), NodeId(1), kD0, kD1, 1, 3},
                                        {TensorId(0), NodeId(2), kD0, kD1, 1, 3}}};
  const Metrics metrics = measure_metrics(*problem, timeline);
  EXPECT_EQ(metrics.bytes_moved, 100.0);
  EXPECT_EQ(metrics.transfers, 1u);
  EXPECT_TRUE(metrics.channels.empty());
  EXPECT_FALSE(metrics.busiest_channel().valid());
}

TEST(Metrics, ARunThatTakesNoTimeUsesNothing) {
  const auto problem =
      test::uniform_problem(test::simple_graph({{"a", 0}}, {}, 0), 2, cost::LinkMode::kChannel);
  const Timeline timeline{.device = {kD0}, .priority = {0}, .nodes = {{0, 0}}, .transfers = {}};
  const Metrics metrics = measure_metrics(*problem, timeline);
  EXPECT_EQ(metrics.devices[0].utilisation, 0.0);
  EXPECT_FALSE(metrics.busiest_channel().valid());
}

TEST(Metrics, AChannelOfSeveralUnitsIsFullOnlyWhenAllAreBusy) {
  device::TopologySpec spec;
  spec.name = "pair";
  spec.kinds.push_back({.name = "k"});
  spec.channels.push_back({.name = "bus", .capacity = 2});
  spec.devices = {{.name = "p", .egress = {ChannelId(0)}}, {.name = "q", .egress = {ChannelId(0)}}};
  const cost::Problem problem(
      std::make_shared<graph::Graph>(test::simple_graph({{"a", 1}, {"b", 1}}, {{"a", "b"}}, 2)),
      std::make_shared<device::Topology>(std::move(spec)));
  const Timeline timeline{.makespan = 4,
                          .device = {kD0, kD1},
                          .priority = {2, 1},
                          .nodes = {{0, 1}, {3, 4}},
                          .transfers = {{TensorId(0), NodeId(), kD0, kD1, 1, 3}}};
  const Metrics metrics = measure_metrics(problem, timeline);
  EXPECT_EQ(metrics.channels[0].busy, 2.0);
  EXPECT_DOUBLE_EQ(metrics.channels[0].utilisation, 2.0 / (4.0 * 2));
}

}  // namespace
}  // namespace doppler::schedule
