#include "doppler/policy/features/partial_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graphs.h"

namespace doppler::policy {
namespace {

using ::testing::ElementsAre;

// make writes 10 bytes that read takes; use needs 8 bytes of a parameter. These are there from the
// start, so on d0, which has 15, they would be beside the 10, though these are gone by then.
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
  PartialPlacement construction(nodes);
  construction.begin();
  for (const NodeId node : {make, read}) {
    construction.look(node);
    EXPECT_THAT(construction.may_take(), ElementsAre(1, 1));
    construction.place(node, DeviceId(0));
  }
  construction.look(use);
  EXPECT_THAT(construction.may_take(), ElementsAre(0, 1));
}

}  // namespace
}  // namespace doppler::policy
