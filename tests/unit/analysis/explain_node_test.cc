#include "doppler/render/analysis_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/base/error.h"
#include "support/errors.h"
#include "support/graphs.h"

namespace doppler::analysis {
namespace {

using ::testing::HasSubstr;

// a(1) on d0, transfer 3, b(1) on d1: 0-1, 1-4, 4-5. With b on d0 the run takes 2.
TEST(ExplainNode, AnotherDeviceIsBetter) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 1}, {"b", 1}}, {{"a", "b"}}, 3), 2, cost::LinkMode::kChannel);
  const auto placement = test::place(*problem, {{"a", "d0"}, {"b", "d1"}});
  const NodeExplanation b = explain_node(*problem, placement, NodeId(1));
  EXPECT_EQ(b.run.start, 4.0);
  EXPECT_EQ(b.ready, 4.0);
  EXPECT_TRUE(b.critical);
  EXPECT_FALSE(b.spare);
  ASSERT_EQ(b.inputs.size(), 1u);
  EXPECT_TRUE(b.inputs[0].moved);
  EXPECT_EQ(b.inputs[0].complete, 1.0);
  EXPECT_EQ(b.inputs[0].arrived, 4.0);
  ASSERT_EQ(b.alternatives.size(), 2u);
  EXPECT_EQ(b.alternatives[0].device, DeviceId(1));
  EXPECT_EQ(b.alternatives[0].makespan, 5.0);
  EXPECT_EQ(b.alternatives[1].makespan, 2.0);
  const std::string words = render::explanation_text(*problem, b);
  EXPECT_THAT(words, HasSubstr("d0 would be better"));
  EXPECT_THAT(words, HasSubstr("on its way for 3"));

  const NodeExplanation a = explain_node(*problem, placement, NodeId(0));
  EXPECT_TRUE(a.critical);
  EXPECT_EQ(a.spare, 0.0);
  EXPECT_THAT(render::explanation_text(*problem, a), HasSubstr("It waits for no data"));
}

// long(5) and then short(1) on d0, other(9) on d1: short waits 5 for its device, and the run ends 3
// after it.
TEST(ExplainNode, WaitsForItsDevice) {
  const auto problem =
      test::uniform_problem(test::simple_graph({{"long", 5}, {"short", 1}, {"other", 9}}, {}, 0), 2,
                            cost::LinkMode::kFree);
  const auto placement = test::place(*problem, {{"long", "d0"}, {"short", "d0"}, {"other", "d1"}});
  const NodeExplanation node = explain_node(*problem, placement, NodeId(1));
  EXPECT_EQ(node.run.start, 5.0);
  EXPECT_EQ(node.ready, 0.0);
  EXPECT_EQ(node.ran_before, NodeId(0));
  EXPECT_FALSE(node.critical);
  EXPECT_THAT(render::explanation_text(*problem, node), HasSubstr("busy with long last"));
  // On d1 it would make the run 10 long.
  EXPECT_EQ(node.alternatives[1].makespan, 10.0);
}

TEST(ExplainNode, ConstraintsAreNamed) {
  graph::Graph graph = test::simple_graph({{"a", 1}}, {}, 0);
  cost::ProblemOptions options;
  options.constraints.forbids.push_back({NodeId(0), "d1"});
  const auto problem = std::make_shared<const cost::Problem>(
      std::make_shared<const graph::Graph>(std::move(graph)),
      std::make_shared<const device::Topology>(test::uniform_topology(2)), options);
  const NodeExplanation node =
      explain_node(*problem, test::place(*problem, {{"a", "d0"}}), NodeId(0));
  EXPECT_FALSE(node.alternatives[1].makespan);
  EXPECT_EQ(node.alternatives[1].obstacle, "a constraint forbids it");
  EXPECT_THAT(render::explanation_text(*problem, node), HasSubstr("No other device can take it"));
}

TEST(ExplainNode, UnknownNamesGetTheClosest) {
  const graph::Graph graph = test::simple_graph({{"matmul", 1}, {"add", 1}}, {}, 0);
  EXPECT_EQ(find_node(graph, "add"), NodeId(1));
  EXPECT_THAT(test::error_of<ParameterError>([&] { find_node(graph, "matmull"); }),
              HasSubstr("no node 'matmull'; the closest: matmul, add"));
}

}  // namespace
}  // namespace doppler::analysis
