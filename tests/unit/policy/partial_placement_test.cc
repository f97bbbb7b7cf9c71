#include "doppler/policy/features/partial_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graphs.h"

namespace doppler::policy {
namespace {

using ::testing::ElementsAre;

// `make` writes 10 bytes that `read` reads; `use` needs 8 bytes of a parameter. Parameters count
// from the start. So on d0, which has 15 bytes, these 8 would have been beside the 10, even though
// the 10 are free by the time that `use` runs.
TEST(PartialPlacement, CountsParametersFromTheStart) {
  graph::GraphBuilder builder;
  const NodeId make = builder.add_node({.name = "make", .time = 1.0});
  const NodeId read = builder.add_node({.name = "read", .time = 1.0});
  const NodeId use = builder.add_node({.name = "use", .time = 1.0});
  const auto link = [&](TensorId tensor, NodeId to) { builder.connect(tensor, to); };
  link(builder.add_tensor({.name = "value", .producer = make, .bytes = 10.0, .transfer_time = 1.0}),
       read);
  link(builder.add_tensor({.name = "done", .producer = read, .bytes = 0.0, .transfer_time = 1.0}),
       use);
  link(builder.add_tensor({.name = "weights",
                           .role = graph::TensorRole::kParameter,
                           .bytes = 8.0,
                           .transfer_time = 1.0}),
       use);
  builder.constraints().memory = {{"d0", 15}, {"d1", 15}};
  const auto problem = test::uniform_problem(std::move(builder).build(), 2, cost::LinkMode::kFree);
  const NodeFeatures nodes(*problem);
  PartialPlacement placement(nodes);
  placement.begin();
  for (const NodeId node : {make, read}) {
    placement.evaluate(node);
    EXPECT_THAT(placement.may_take(), ElementsAre(1, 1));
    placement.place(node, DeviceId(0));
  }
  placement.evaluate(use);
  EXPECT_THAT(placement.may_take(), ElementsAre(0, 1));
}

}  // namespace
}  // namespace doppler::policy
