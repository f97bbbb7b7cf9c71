#include "doppler/policy/features/node_features.h"

#include <gtest/gtest.h>

#include "support/graphs.h"

namespace doppler::policy {
namespace {

// 18 bytes in all, on devices that hold 15, 20 and 25: a share of 0.3 of their memory. Without
// limits memory does not matter.
TEST(NodeFeatures, MemoryPressureIsTheShareOfAllDevices) {
  const auto pressure = [](bool limited) {
    graph::GraphBuilder builder;
    const NodeId make = builder.add_node({.name = "make", .time = 1.0});
    const NodeId read = builder.add_node({.name = "read", .time = 1.0});
    builder.connect(
        builder.add_tensor({.name = "x", .producer = make, .bytes = 18.0, .transfer_time = 1.0}),
        read);
    if (limited) builder.constraints().memory = {{"d0", 15}, {"d1", 20}, {"d2", 25}};
    const auto problem =
        test::uniform_problem(std::move(builder).build(), 3, cost::LinkMode::kFree);
    const NodeFeatures features(*problem);
    return features.values()(0, column_of(NodeFeature::kMemoryPressure));
  };
  EXPECT_FLOAT_EQ(pressure(true), 18.0f / (15.0f + 20.0f + 25.0f));
  EXPECT_EQ(pressure(false), 0.0f);
}

}  // namespace
}  // namespace doppler::policy
