// Transfers over routes, groups, shared and wide channels, by hand. Channels are named in the
// comments as in the topologies; all times in seconds, all nodes take 1 unless said otherwise.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "support/checked_run.h"
#include "support/graphs.h"

namespace doppler::test {
namespace {

using cost::LinkMode;
using schedule::Choice;

struct Edge {
  std::string from, to;
};

// Every node takes 1 and writes `bytes`.
graph::Graph byte_graph(const std::vector<std::string>& nodes, const std::vector<Edge>& edges,
                        double bytes) {
  graph::GraphBuilder builder;
  std::map<std::string, std::pair<NodeId, TensorId>> made;
  for (const std::string& name : nodes) {
    const NodeId node = builder.add_node({.name = name, .time = 1.0});
    made[name] = {node, builder.add_output(node, bytes)};
  }
  for (const Edge& edge : edges) builder.connect(made.at(edge.from).second, made.at(edge.to).first);
  return std::move(builder).build();
}

// Devices with a channel out and a channel in each: d<i> has channels 2i ("out") and 2i + 1 ("in").
device::TopologySpec switched(std::size_t devices, const device::Channel& out,
                              const device::Channel& in) {
  device::TopologySpec spec;
  spec.name = "switched";
  spec.kinds = {{.name = "k"}};
  for (std::size_t d = 0; d < devices; ++d) {
    device::Channel egress = out, ingress = in;
    egress.name = fmt::format("out{}", d);
    ingress.name = fmt::format("in{}", d);
    spec.channels.push_back(egress);
    spec.channels.push_back(ingress);
    spec.devices.push_back({.name = fmt::format("d{}", d),
                            .egress = {ChannelId::of(2 * d)},
                            .ingress = {ChannelId::of(2 * d + 1)}});
  }
  return spec;
}

// Devices behind one bridge that every transfer crosses: it is the way out and the way in.
device::TopologySpec bridged(std::size_t devices, std::uint32_t capacity) {
  device::TopologySpec spec;
  spec.name = "bridged";
  spec.kinds = {{.name = "k"}};
  spec.channels.push_back({.name = "bridge", .bandwidth = 10.0, .capacity = capacity});
  for (std::size_t d = 0; d < devices; ++d) {
    spec.devices.push_back(
        {.name = fmt::format("d{}", d), .egress = {ChannelId(0)}, .ingress = {ChannelId(0)}});
  }
  return spec;
}

TEST(Links, RouteOfTwoChannelsAddsLatenciesAndTakesTheSmallestBandwidth) {
  // out: latency 1, 10 B/s; in: latency 2, 5 B/s. 20 bytes: 1 + 2 + 20 / 5 = 7. a 0-1, b 8-9.
  const auto problem =
      make_problem(byte_graph({"a", "b"}, {{"a", "b"}}, 20.0),
                   switched(2, {.name = {}, .bandwidth = 10.0, .latency_seconds = 1.0},
                            {.name = {}, .bandwidth = 5.0, .latency_seconds = 2.0}));
  const auto run = checked_run(*problem, place(*problem, {{"a", "d0"}, {"b", "d1"}}));
  EXPECT_EQ(transfer_of(*problem, run, "a", "d1").end, 8);
  EXPECT_EQ(run.makespan, 9);
}

TEST(Links, ZeroBytesStillPayLatency) {
  // a 0-1, latency 1 + 2, b 4-5.
  const auto problem =
      make_problem(byte_graph({"a", "b"}, {{"a", "b"}}, 0.0),
                   switched(2, {.name = {}, .bandwidth = 10.0, .latency_seconds = 1.0},
                            {.name = {}, .bandwidth = 5.0, .latency_seconds = 2.0}));
  EXPECT_EQ(checked_run(*problem, place(*problem, {{"a", "d0"}, {"b", "d1"}})).makespan, 5);
}

TEST(Links, SharedBridgeIsHeldOnceAndByOneTransfer) {
  // a on d0 -> b on d1 and c on d2 -> e on d0, 20 bytes at 10 B/s: 2 each, both ready at 1. The
  // bridge is way out and way in of each transfer but counted once, else none could ever start. Tie
  // of priorities: the lower tensor id, a: 1-3, then c: 3-5. b 3-4, e 5-6.
  const auto graph = byte_graph({"a", "b", "c", "e"}, {{"a", "b"}, {"c", "e"}}, 20.0);
  const std::vector<std::pair<std::string, std::string>> assignment = {
      {"a", "d0"}, {"b", "d1"}, {"c", "d2"}, {"e", "d0"}};
  const auto narrow = make_problem(graph, bridged(3, 1));
  const auto run = checked_run(*narrow, place(*narrow, assignment));
  EXPECT_EQ(run_of(*narrow, run, "b").start, 3);
  EXPECT_EQ(run_of(*narrow, run, "e").start, 5);
  EXPECT_EQ(run.makespan, 6);
  // Capacity 2: both 1-3, at full speed each.
  const auto wide = make_problem(graph, bridged(3, 2));
  EXPECT_EQ(checked_run(*wide, place(*wide, assignment)).makespan, 4);
}

TEST(Links, CapacityTwoCarriesTwoOfThree) {
  // a1, a2, a3 on d0, d1, d2 end at 1 and send 20 bytes (2) to b1, b2, b3 on d3; the bridge takes
  // two: 1-3, 1-3, 3-5. d3 runs b1 3-4, b2 4-5, b3 5-6.
  const auto problem = make_problem(byte_graph({"a1", "a2", "a3", "b1", "b2", "b3"},
                                               {{"a1", "b1"}, {"a2", "b2"}, {"a3", "b3"}}, 20.0),
                                    bridged(4, 2));
  const auto run = checked_run(
      *problem,
      place(*problem,
            {{"a1", "d0"}, {"a2", "d1"}, {"a3", "d2"}, {"b1", "d3"}, {"b2", "d3"}, {"b3", "d3"}}));
  EXPECT_EQ(transfer_of(*problem, run, "a2", "d3").start, 1);
  EXPECT_EQ(transfer_of(*problem, run, "a3", "d3").start, 3);
  EXPECT_EQ(run.makespan, 6);
}

// Two groups of two devices; each device's channels as `switched` with latency 0.5 and 100 B/s,
// each group's ways out to and in from the network with latency 1 and 10 B/s.
device::TopologySpec cluster() {
  const device::Channel port{.name = {}, .bandwidth = 100.0, .latency_seconds = 0.5};
  device::TopologySpec spec = switched(4, port, port);
  for (const char* name : {"net0 out", "net0 in", "net1 out", "net1 in"}) {
    spec.channels.push_back({.name = name, .bandwidth = 10.0, .latency_seconds = 1.0});
  }
  spec.groups = {{.name = "g0", .egress = {ChannelId(8)}, .ingress = {ChannelId(9)}},
                 {.name = "g1", .egress = {ChannelId(10)}, .ingress = {ChannelId(11)}}};
  for (std::size_t d = 0; d < 4; ++d) spec.devices[d].group = d < 2 ? 0 : 1;
  return spec;
}

TEST(Links, RoutesBetweenGroupsCrossTheNetwork) {
  // a on d0 writes 100 bytes for b on d1 (0.5 + 0.5 + 100 / 100 = 2) and for c on d2 (0.5 + 1 + 1 +
  // 0.5 + 100 / 10 = 13). Both leave through out0. b and c tie and it is one tensor, so the lower
  // destination first: d1 1-3, d2 3-16. c 16-17.
  const auto problem =
      make_problem(byte_graph({"a", "b", "c"}, {{"a", "b"}, {"a", "c"}}, 100.0), cluster());
  const auto placement = place(*problem, {{"a", "d0"}, {"b", "d1"}, {"c", "d2"}}, {"a", "b", "c"});
  const auto run = checked_run(*problem, placement);
  EXPECT_EQ(transfer_of(*problem, run, "a", "d1").end, 3);
  EXPECT_EQ(transfer_of(*problem, run, "a", "d2").end, 16);
  EXPECT_EQ(run.makespan, 17);
  // c better: d2 1-14, d1 14-16; c 14-15, b 16-17.
  const auto swapped = place(*problem, {{"a", "d0"}, {"b", "d1"}, {"c", "d2"}}, {"a", "c", "b"});
  const auto other = checked_run(*problem, swapped);
  EXPECT_EQ(run_of(*problem, other, "c").start, 14);
  EXPECT_EQ(run_of(*problem, other, "b").start, 16);
}

TEST(Links, FlowsBetweenGroupsMeetOnTheNetwork) {
  // a on d0 -> c on d2 and b on d1 -> e on d3 share only the network's channels: 1-14 and 14-27.
  const auto problem =
      make_problem(byte_graph({"a", "b", "c", "e"}, {{"a", "c"}, {"b", "e"}}, 100.0), cluster());
  const auto run =
      checked_run(*problem, place(*problem, {{"a", "d0"}, {"b", "d1"}, {"c", "d2"}, {"e", "d3"}}));
  EXPECT_EQ(transfer_of(*problem, run, "b", "d3").start, 14);
  EXPECT_EQ(run.makespan, 28);
}

TEST(Links, WaitingTransferHoldsNothing) {
  // s on d1 sends 100 bytes at 10 B/s to x0 on d2: in2 is taken 1-11. a on d0 sends to x on d2,
  // ready at 1, and must wait for in2; out0 stays free meanwhile, and b (1-2 on d0) sends to y on
  // d1: 2-12, although y is worse than x. At 11 in2 is free but now out0 is not: x's transfer runs
  // 12-22.
  const auto problem = make_problem(
      byte_graph({"s", "a", "b", "x0", "x", "y"}, {{"s", "x0"}, {"a", "x"}, {"b", "y"}}, 100.0),
      switched(3, {.name = {}, .bandwidth = 10.0}, {.name = {}, .bandwidth = 10.0}));
  const auto run = checked_run(
      *problem,
      place(*problem,
            {{"s", "d1"}, {"a", "d0"}, {"b", "d0"}, {"x0", "d2"}, {"x", "d2"}, {"y", "d1"}},
            {"s", "a", "b", "x0", "x", "y"}));
  EXPECT_EQ(transfer_of(*problem, run, "s", "d2").start, 1);
  EXPECT_EQ(transfer_of(*problem, run, "b", "d1").start, 2);
  EXPECT_EQ(transfer_of(*problem, run, "a", "d2").start, 12);
  EXPECT_EQ(run.makespan, 23);
}

TEST(Links, ExplicitRouteReplacesTheComposedOne) {
  // d0 -> d1 by a direct channel of 100 B/s: 100 bytes take 1; back by the ports: 10.
  device::TopologySpec spec =
      switched(2, {.name = {}, .bandwidth = 10.0}, {.name = {}, .bandwidth = 10.0});
  spec.channels.push_back({.name = "direct", .bandwidth = 100.0});
  spec.routes.push_back({DeviceId(0), DeviceId(1), {ChannelId(4)}});
  const auto problem =
      make_problem(byte_graph({"a", "b", "c"}, {{"a", "b"}, {"b", "c"}}, 100.0), spec);
  // a 0-1, transfer 1-2, b 2-3, transfer 3-13, c 13-14.
  EXPECT_EQ(
      checked_run(*problem, place(*problem, {{"a", "d0"}, {"b", "d1"}, {"c", "d0"}})).makespan, 14);
}

TEST(Links, PairsHaveChannelsOfTheirOwn) {
  // a1, a2, a3 on d0 end at 1, 2, 3; transfers take 3. a1 and a2 go to d1: 1-4 and 4-7. a3 goes to
  // d2 on another channel and does not wait: 3-6. c 6-7, b2 7-8.
  const auto problem = uniform_problem(
      simple_graph({{"a1", 1}, {"a2", 1}, {"a3", 1}, {"b1", 1}, {"b2", 1}, {"c", 1}},
                   {{"a1", "b1"}, {"a2", "b2"}, {"a3", "c"}}, 3),
      3, LinkMode::kChannel);
  const auto run = checked_run(
      *problem,
      place(*problem,
            {{"a1", "d0"}, {"a2", "d0"}, {"a3", "d0"}, {"b1", "d1"}, {"b2", "d1"}, {"c", "d2"}},
            {"a1", "a2", "a3", "b1", "b2", "c"}));
  EXPECT_EQ(run_of(*problem, run, "c").start, 6);
  EXPECT_EQ(run_of(*problem, run, "b2").start, 7);
  EXPECT_EQ(run.makespan, 8);
}

TEST(Links, TimesByConsumer) {
  // a's result takes 2 to b and 5 to c, both on d1. One job takes the larger: 1-6, b 6-7, c 7-8.
  // Free links deliver separately: b 3-4, c 6-7.
  graph::GraphBuilder builder;
  const NodeId a = builder.add_node({.name = "a", .time = 1.0});
  const NodeId b = builder.add_node({.name = "b", .time = 1.0});
  const NodeId c = builder.add_node({.name = "c", .time = 1.0});
  const TensorId t = builder.add_output(a, std::nullopt);
  builder.connect(t, b, 2.0);
  builder.connect(t, c, 5.0);
  const graph::Graph graph = std::move(builder).build();
  const auto channel = uniform_problem(graph, 3, LinkMode::kChannel);
  const auto together = place(*channel, {{"a", "d0"}, {"b", "d1"}, {"c", "d1"}});
  EXPECT_EQ(checked_run(*channel, together).makespan, 8);
  const auto free = uniform_problem(graph, 3, LinkMode::kFree);
  EXPECT_EQ(checked_run(*free, together).makespan, 7);
  // On different devices each job has its own consumer's time: b 3-4, c 6-7.
  const auto apart =
      checked_run(*channel, place(*channel, {{"a", "d0"}, {"b", "d1"}, {"c", "d2"}}));
  EXPECT_EQ(run_of(*channel, apart, "b").start, 3);
  EXPECT_EQ(run_of(*channel, apart, "c").start, 6);
}

TEST(Links, FifoAndPriorityAmongWaitingTransfers) {
  // p, q, r on d0 end at 1, 2, 3 and send to x, y, z on d1, transfers 4. p goes 1-5. At 5 both
  // wait: by priority r, whose z is best, 5-9, then q 9-13; fifo: q first.
  const auto problem =
      uniform_problem(simple_graph({{"p", 1}, {"q", 1}, {"r", 1}, {"x", 1}, {"y", 1}, {"z", 1}},
                                   {{"p", "x"}, {"q", "y"}, {"r", "z"}}, 4),
                      2, LinkMode::kChannel);
  const auto placement = place(
      *problem, {{"p", "d0"}, {"q", "d0"}, {"r", "d0"}, {"x", "d1"}, {"y", "d1"}, {"z", "d1"}},
      {"p", "q", "r", "z", "y", "x"});
  const auto by_priority = checked_run(*problem, placement);
  EXPECT_EQ(transfer_of(*problem, by_priority, "r", "d1").start, 5);
  EXPECT_EQ(transfer_of(*problem, by_priority, "q", "d1").start, 9);
  const auto fifo = checked_run(*problem, placement, {.choice = Choice::kFifo});
  EXPECT_EQ(transfer_of(*problem, fifo, "q", "d1").start, 5);
  EXPECT_EQ(transfer_of(*problem, fifo, "r", "d1").start, 9);
}

TEST(Links, TransferIsAsUrgentAsItsBestConsumer) {
  // p on d0 feeds x (worst) and y (best), q feeds z, all on d1; p and q are ready at 1 (one node
  // writes both). p's transfer goes first for y's sake: 1-3, q's 3-5.
  graph::GraphBuilder builder;
  const NodeId a = builder.add_node({.name = "a", .time = 1.0});
  const NodeId x = builder.add_node({.name = "x", .time = 1.0});
  const NodeId y = builder.add_node({.name = "y", .time = 1.0});
  const NodeId z = builder.add_node({.name = "z", .time = 1.0});
  const TensorId q = builder.add_tensor({.name = "q", .producer = a, .transfer_time = 2.0});
  const TensorId p = builder.add_tensor({.name = "p", .producer = a, .transfer_time = 2.0});
  builder.connect(p, x);
  builder.connect(p, y);
  builder.connect(q, z);
  const auto problem = uniform_problem(std::move(builder).build(), 2, LinkMode::kChannel);
  const auto run = checked_run(
      *problem,
      place(*problem, {{"a", "d0"}, {"x", "d1"}, {"y", "d1"}, {"z", "d1"}}, {"a", "y", "z", "x"}));
  EXPECT_EQ(transfer_of(*problem, run, "p", "d1").start, 1);
  EXPECT_EQ(transfer_of(*problem, run, "q", "d1").start, 3);
}

}  // namespace
}  // namespace doppler::test
