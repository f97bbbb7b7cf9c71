#include "doppler/cost/measured_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/cost/problem.h"
#include "doppler/graph/builder.h"
#include "support/errors.h"
#include "support/graphs.h"

namespace doppler::cost {
namespace {

using ::testing::HasSubstr;

constexpr Link kNear{.latency_seconds = 1e-6, .bandwidth = 1e9};
constexpr Link kFar{.latency_seconds = 3e-6, .bandwidth = 5e8};
constexpr NodeId kA(0), kB(1);
constexpr DeviceId kFast(0), kSlow(1), kOther(2);

// a feeds b with 1000 bytes. 1e6 flops: 1 us on "fast", 4 us on "slow".
graph::Graph pair_graph() {
  graph::GraphBuilder builder;
  const NodeId a = builder.add_node({.name = "a", .op = "matmul", .flops = 1e6});
  const NodeId b = builder.add_node({.name = "b", .op = "add", .flops = 1e6});
  builder.connect(builder.add_output(a, 1000.0), b);
  return std::move(builder).build();
}

// Two of the kinds in one group, a second slow one in another.
device::TopologySpec machine() {
  device::TopologySpec spec;
  spec.name = "machine";
  spec.kinds = {{.name = "fast", .peak_flops = 1e12}, {.name = "slow", .peak_flops = 2.5e11}};
  spec.channels = {{.name = "near", .bandwidth = 1e9, .latency_seconds = 1e-6},
                   {.name = "far", .bandwidth = 5e8, .latency_seconds = 2e-6}};
  const std::vector<ChannelId> near{ChannelId(0)}, far{ChannelId(1)};
  spec.devices = {{.name = "d0", .kind = 0, .egress = near},
                  {.name = "d1", .kind = 1, .egress = near},
                  {.name = "d2", .kind = 1, .group = 1, .egress = near}};
  spec.groups = {{.name = "g0", .egress = far}, {.name = "g1", .egress = far}};
  return spec;
}

MeasuredCosts costs_of(const graph::Graph& graph) {
  return {.file = "costs.json", .graph_hash = graph.hash(), .runs = 3, .kinds = {"slow"}};
}

std::shared_ptr<const Problem> problem_with(MeasuredCosts costs, ProblemOptions options = {}) {
  options.measured = std::make_shared<const MeasuredCosts>(std::move(costs));
  return test::make_problem(pair_graph(), machine(), options);
}

TEST(MeasuredCosts, WinOverAllOthersWhichFillTheGaps) {
  MeasuredCosts costs = costs_of(pair_graph());
  costs.nodes = {{.node = kB, .kind = 0, .seconds = 9e-6}};
  const auto problem = problem_with(costs);
  EXPECT_EQ(problem->costs(), CostSource::kMeasured);
  EXPECT_EQ(problem->measured()->file, "costs.json");
  EXPECT_EQ(problem->compute_time(kB, kSlow), 9e-6);
  EXPECT_EQ(problem->compute_time(kB, kOther), 9e-6);  // the same kind
  EXPECT_EQ(problem->compute_time(kB, kFast), 1e-6);
  EXPECT_EQ(problem->compute_time(kA, kSlow), 4e-6);
  EXPECT_EQ(problem->link(kFast, kSlow), kNear);
}

// Transfers measured between the first two change all links like theirs, and no others.
TEST(MeasuredCosts, LinksChangeByClass) {
  MeasuredCosts costs = costs_of(pair_graph());
  costs.nodes = {{.node = kA, .kind = 0, .seconds = 1.0}};
  costs.transfers = {{.tensor = TensorId(0),
                      .from = "d0",
                      .to = "d1",
                      .seconds = 5e-6,
                      .bytes = 1000,
                      .link = kNear},
                     // By a given time: says nothing of bytes.
                     {.tensor = TensorId(0), .from = "d0", .to = "d2", .seconds = 7.0}};
  const auto problem = problem_with(costs);
  for (const auto& [from, to] : {std::pair(kFast, kSlow), std::pair(kSlow, kFast)}) {
    EXPECT_EQ(problem->link(from, to).latency_seconds, 1e-6);
    EXPECT_NEAR(problem->link(from, to).bandwidth, 2.5e8, 1.0);
    EXPECT_EQ(problem->topology_link(from, to), kNear);
  }
  EXPECT_EQ(problem->link(kFast, kOther), kFar);
  EXPECT_EQ(problem->link(kOther, kSlow), kFar);
  // Without a run of such transfers the topology stands.
  costs.transfers.front().link = Link{1e-6, 2e9};
  EXPECT_EQ(problem_with(costs)->link(kFast, kSlow), kNear);
}

TEST(MeasuredCosts, AreInTheHash) {
  MeasuredCosts costs = costs_of(pair_graph());
  costs.nodes = {{.node = kA, .kind = 0, .seconds = 4e-6}};
  costs.transfers = {{.tensor = TensorId(0), .seconds = 5e-6, .bytes = 1000, .link = kNear}};
  const std::uint64_t hash = problem_with(costs)->hash();
  EXPECT_EQ(problem_with(costs)->hash(), hash);
  costs.nodes[0].seconds = 5e-6;
  EXPECT_NE(problem_with(costs)->hash(), hash);
  costs.nodes[0].seconds = 4e-6;
  costs.transfers[0].seconds = 6e-6;
  EXPECT_NE(problem_with(costs)->hash(), hash);
}

TEST(MeasuredCosts, TheRestMayComeFromOneSource) {
  MeasuredCosts costs = costs_of(pair_graph());
  costs.nodes = {{.node = kA, .kind = 0, .seconds = 1e-6}};
  EXPECT_EQ(problem_with(costs, {.costs = CostSource::kMeasured})->compute_time(kB, kFast), 1e-6);
  EXPECT_THAT(test::error_of([&] { problem_with(costs, {.costs = CostSource::kGiven}); }),
              HasSubstr("node 'b' has no time"));
  EXPECT_THAT(test::error_of<ParameterError>([&] {
                test::make_problem(pair_graph(), machine(), {.costs = CostSource::kMeasured});
              }),
              HasSubstr("none are there"));
}

TEST(MeasuredCosts, OfAnotherGraphOrOtherDevicesAreRefused) {
  MeasuredCosts costs = costs_of(pair_graph());
  costs.nodes = {{.node = kA, .kind = 0, .seconds = 1e-6}};
  costs.graph_hash ^= 1;
  EXPECT_EQ(test::error_of([&] { problem_with(costs); }),
            "costs.json: the costs were measured for another graph");
  costs.graph_hash ^= 1;
  costs.kinds = {"V100"};
  EXPECT_EQ(test::error_of([&] { problem_with(costs); }),
            "costs.json: the costs were measured on V100, of which machine has none");
}

// Seconds do not mix with times in another unit; where all are measured there is nothing to mix.
TEST(MeasuredCosts, AreSeconds) {
  graph::GraphBuilder builder;
  builder.set_time_unit("ticks");
  const NodeId a = builder.add_node({.name = "a", .op = "x", .time = 5.0});
  const NodeId b = builder.add_node({.name = "b", .op = "x", .time = 5.0});
  builder.connect(builder.add_output(a, 1000.0), b);
  const graph::Graph graph = std::move(builder).build();
  MeasuredCosts costs = costs_of(graph);
  costs.kinds = {"fast", "slow"};
  costs.nodes = {{.node = kA, .kind = 0, .seconds = 1.0}};
  const auto with = [&] {
    return test::make_problem(graph, machine(),
                              {.measured = std::make_shared<const MeasuredCosts>(costs)});
  };
  EXPECT_THAT(test::error_of([&] { with(); }),
              HasSubstr("given times in 'ticks' and others only measured times"));
  costs.nodes.push_back({.node = kA, .kind = 1, .seconds = 1.0});
  costs.nodes.push_back({.node = kB, .kind = 0, .seconds = 1.0});
  costs.nodes.push_back({.node = kB, .kind = 1, .seconds = 1.0});
  EXPECT_EQ(with()->time_unit(), "s");
}

}  // namespace
}  // namespace doppler::cost
