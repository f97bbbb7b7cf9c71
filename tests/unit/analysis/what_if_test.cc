#include "doppler/render/analysis_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/base/error.h"
#include "doppler/device/spec.h"
#include "doppler/place/registry.h"
#include "support/errors.h"
#include "support/graphs.h"

namespace doppler::analysis {
namespace {

using ::testing::HasSubstr;

class WhatIf : public ::testing::Test {
 protected:
  // Two nodes of 2 that know nothing of each other, one on each device.
  std::shared_ptr<const cost::Problem> problem_ = test::uniform_problem(
      test::simple_graph({{"a", 2}, {"b", 2}}, {}, 1), 2, cost::LinkMode::kFree);
  schedule::Placement placement_ = test::place(*problem_, {{"a", "d0"}, {"b", "d1"}});
  place::Registry methods_ = place::methods_with({});
  WhatIfSettings settings_{.max_evaluations = 50};

  std::vector<WhatIfCase> ask(const MachineChanges& changes) {
    return what_if(problem_, placement_, changes, methods_.find("heft"), settings_);
  }
};

// Lost: both on the other device, 2 + 2. One more device is of no use to two nodes.
TEST_F(WhatIf, OneOfEachByDefault) {
  const std::vector<WhatIfCase> cases = ask({});
  ASSERT_EQ(cases.size(), 4u);  // nothing moves, so that no link is busiest
  EXPECT_EQ(cases[0].kind, "now");
  EXPECT_EQ(cases[0].kept, 2.0);
  EXPECT_EQ(cases[1].kind, "added");
  EXPECT_EQ(cases[1].kept, 2.0);
  EXPECT_EQ(cases[1].replaced, 2.0);
  EXPECT_EQ(cases[1].moved, 0u);
  EXPECT_EQ(cases[2].kind, "lost");
  EXPECT_EQ(cases[2].kept, 4.0);
  EXPECT_EQ(cases[2].replaced, 4.0);
  EXPECT_EQ(cases[2].moved, 1u);
  EXPECT_EQ(cases[3].kind, "memory");
  EXPECT_FALSE(cases[3].kept);
  EXPECT_THAT(cases[3].failure, HasSubstr("no limit"));
  EXPECT_THAT(render::what_if_text(*problem_, cases), HasSubstr("+100.0 %"));
}

TEST_F(WhatIf, NamesThatAreNotThere) {
  EXPECT_THAT(test::error_of<ParameterError>([&] { ask({.lost = {"d7"}}); }),
              HasSubstr("no device 'd7'; the closest: d0, d1"));
  EXPECT_THAT(test::error_of<ParameterError>([&] {
                ask({.slowed = {{"d0-d1", 0.5}}});
              }),
              HasSubstr("no channel 'd0-d1'"));
}

TEST_F(WhatIf, TheOnlyDeviceCannotBeLost) {
  problem_ = test::uniform_problem(test::simple_graph({{"a", 2}}, {}, 1), 1, cost::LinkMode::kFree);
  placement_ = test::place(*problem_, {{"a", "d0"}});
  const std::vector<WhatIfCase> cases = ask({.lost = {"d0"}});
  EXPECT_THAT(cases.at(1).failure, HasSubstr("no other device"));
}

// a on gpu0, b on gpu1, 1 GB from one to the other: at half the speed the transfer takes twice as
// long, less the latency, which stays.
TEST_F(WhatIf, ASlowerLink) {
  graph::GraphBuilder builder;
  const NodeId a = builder.add_node({.name = "a", .time = 1.0});
  const NodeId b = builder.add_node({.name = "b", .time = 1.0});
  builder.connect(builder.add_output(a, 1e9), b);
  problem_ = std::make_shared<const cost::Problem>(
      std::make_shared<const graph::Graph>(std::move(builder).build()),
      std::make_shared<const device::Topology>(device::topology_from_spec("2xA100")));
  placement_ = test::place(*problem_, {{"a", "gpu0"}, {"b", "gpu1"}});
  const std::vector<WhatIfCase> cases = ask({.slowed = {{"gpu0.out", 0.5}}});
  const cost::Link link = problem_->link(DeviceId(0), DeviceId(1));
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_NEAR(*cases[1].kept - *cases[0].kept, 1e9 / link.bandwidth, 1e-9);
  // Both on one device need no link.
  EXPECT_NEAR(*cases[1].replaced, 2.0, 1e-9);
}

// Two parameters of 0.4 of a device's memory on one device: half the memory holds one of them.
TEST_F(WhatIf, LessMemory) {
  const auto topology =
      std::make_shared<const device::Topology>(device::topology_from_spec("2xA100"));
  const double memory = static_cast<double>(topology->devices()[0].memory_bytes);
  graph::GraphBuilder builder;
  for (const char* name : {"a", "b"}) {
    const NodeId node = builder.add_node({.name = name, .time = 1.0});
    builder.connect(builder.add_tensor({.name = std::string(name) + ".w",
                                        .role = graph::TensorRole::kParameter,
                                        .bytes = 0.4 * memory}),
                    node);
  }
  problem_ = std::make_shared<const cost::Problem>(
      std::make_shared<const graph::Graph>(std::move(builder).build()), topology);
  placement_ = test::place(*problem_, {{"a", "gpu0"}, {"b", "gpu0"}});
  const std::vector<WhatIfCase> cases = ask({.memory = {0.5, 0.9}});
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[0].kept, 2.0);
  // At 0.5 one of them has to go.
  EXPECT_EQ(cases[1].kept, 1.0);
  EXPECT_EQ(cases[1].moved, 1u);
  EXPECT_EQ(cases[1].replaced, 1.0);
  EXPECT_EQ(cases[2].kept, 2.0);
  EXPECT_EQ(cases[2].replaced, 1.0);
}

// What is forbidden on a device that is lost forbids nothing any more, and copies have the limits
// of what they are copies of.
TEST_F(WhatIf, ConstraintsFollowTheMachine) {
  settings_.problem.constraints.forbids.push_back({NodeId(0), "d1"});
  settings_.problem.constraints.memory.push_back({"d1", 1000});
  problem_ = std::make_shared<const cost::Problem>(problem_->shared_graph(),
                                                   problem_->shared_topology(), settings_.problem);
  placement_ = test::place(*problem_, {{"a", "d0"}, {"b", "d0"}});
  const std::vector<WhatIfCase> cases = ask({.added = {"d1"}, .lost = {"d1"}});
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[1].kept, 4.0) << cases[1].failure;
  EXPECT_EQ(cases[2].kept, 4.0) << cases[2].failure;
}

// Three nodes that know nothing of each other on two devices: a third device saves the second turn.
TEST_F(WhatIf, OneMoreDeviceGains) {
  problem_ = test::uniform_problem(test::simple_graph({{"a", 2}, {"b", 2}, {"c", 2}}, {}, 1), 2,
                                   cost::LinkMode::kFree);
  placement_ = test::place(*problem_, {{"a", "d0"}, {"b", "d1"}, {"c", "d0"}});
  const std::vector<WhatIfCase> cases = ask({.added = {"d0"}});
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[1].kept, 4.0);
  EXPECT_EQ(cases[1].replaced, 2.0);
}

}  // namespace
}  // namespace doppler::analysis
