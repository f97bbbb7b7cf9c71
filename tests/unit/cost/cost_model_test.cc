#include "doppler/cost/cost_model.h"

#include <gtest/gtest.h>

#include "doppler/base/error.h"
#include "doppler/cost/problem.h"
#include "doppler/device/spec.h"
#include "doppler/graph/builder.h"

namespace doppler::cost {
namespace {

using device::EfficiencyTable;
using device::SizeKey;

// One node of 4e9 flops that reads and writes 2e8 bytes: 20 flops per byte.
graph::Graph one_node() {
  graph::GraphBuilder builder;
  builder.add_node(
      {.name = "n", .op = "contract", .flops = 4e9, .bytes_read = 1.5e8, .bytes_written = 5e7});
  return std::move(builder).build();
}

device::DeviceKind kind() {
  return {
      .name = "k", .peak_flops = 1e11, .memory_bandwidth = 1e10, .launch_overhead_seconds = 1e-3};
}

double seconds(const device::DeviceKind& on) {
  return *Roofline().node_time(one_node(), NodeId(0), on);
}

TEST(Roofline, TheSlowerOfComputeAndMemoryCounts) {
  device::DeviceKind on = kind();
  EXPECT_DOUBLE_EQ(seconds(on), 4e9 / 1e11 + 1e-3);
  on.default_efficiency = device::Efficiency{.compute = 0.5, .memory = 0.5};
  EXPECT_DOUBLE_EQ(seconds(on), 4e9 / 0.5e11 + 1e-3);
  on.efficiency_by_op["contract"] = device::Efficiency{.compute = 1.0, .memory = 0.25};
  EXPECT_DOUBLE_EQ(seconds(on), 2e8 / 0.25e10 + 1e-3);
}

// The result of `a` may have to move as soon as there are two devices, and nothing says how long
// that takes.
TEST(Problem, NeedsTransferTimesOfWhatCanMove) {
  graph::GraphBuilder builder;
  const NodeId a = builder.add_node({.name = "a", .time = 1.0});
  const NodeId b = builder.add_node({.name = "b", .time = 1.0});
  builder.connect(builder.add_tensor({.name = "result", .producer = a}), b);
  const auto graph = std::make_shared<const graph::Graph>(std::move(builder).build());
  const auto on = [&](const char* devices) {
    return Problem(graph,
                   std::make_shared<const device::Topology>(device::topology_from_spec(devices)));
  };
  EXPECT_NO_THROW(on("uniform:1"));
  EXPECT_THROW(on("uniform:2"), InputError);
  EXPECT_THROW(on("uniform:3"), InputError);
}

TEST(Roofline, EfficienciesAreThoseOfTheSize) {
  device::DeviceKind on = kind();
  // 20 flops per byte lie in the middle of 2 and 200: sqrt(0.1 x 0.4) = 0.2.
  on.efficiency_by_op["contract"] = EfficiencyTable(
      SizeKey::kFlopsPerByte,
      {{.size = 2, .efficiency = {.compute = 0.1}}, {.size = 200, .efficiency = {.compute = 0.4}}});
  EXPECT_DOUBLE_EQ(seconds(on), 4e9 / 0.2e11 + 1e-3);
  // 2e8 bytes are beyond the last.
  on.efficiency_by_op["contract"] = EfficiencyTable(
      SizeKey::kBytes,
      {{.size = 1e3, .efficiency = {}}, {.size = 1e8, .efficiency = {.memory = 0.125}}});
  EXPECT_DOUBLE_EQ(seconds(on), 2e8 / 0.125e10 + 1e-3);
}

}  // namespace
}  // namespace doppler::cost
