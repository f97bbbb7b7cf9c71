#include "doppler/render/analysis_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graphs.h"

namespace doppler::analysis {
namespace {

using cost::LinkMode;
using ::testing::HasSubstr;

const DeviceId kFirst{0}, kSecond{1};

// a(1) on d0, transfer 3, b(1) on d1: 1 + 3 + 1 = 5. Moving b to d0 gives 2, the best; so does
// moving a to d1, but a's move comes first and only a shorter run replaces it.
TEST(Limits, SharesAndTheBestMove) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 1}, {"b", 1}}, {{"a", "b"}}, 3), 2, LinkMode::kChannel);
  const auto placement = schedule::with_b_levels(*problem, {kFirst, kSecond});
  const Limits limits = find_limits(*problem, placement);
  EXPECT_DOUBLE_EQ(limits.makespan, 5);
  EXPECT_DOUBLE_EQ(limits.compute, 2.0 / 5);
  EXPECT_DOUBLE_EQ(limits.transfer, 3.0 / 5);
  EXPECT_DOUBLE_EQ(limits.waiting, 0);
  EXPECT_DOUBLE_EQ(limits.busiest_device_share, 1.0 / 5);
  ASSERT_TRUE(limits.busiest_channel.valid());
  EXPECT_DOUBLE_EQ(limits.busiest_channel_share, 3.0 / 5);
  ASSERT_TRUE(limits.best_move);
  EXPECT_EQ(limits.best_move->node, NodeId{0});
  EXPECT_EQ(limits.best_move->to, kSecond);
  EXPECT_DOUBLE_EQ(limits.best_move->makespan, 2);
  EXPECT_TRUE(limits.all_moves_tried);
  EXPECT_EQ(limits.moves_tried, 2u);
  const std::string words = render::limits_text(*problem, placement, limits);
  EXPECT_THAT(words, HasSubstr("40 % compute, 60 % transfer"));
  EXPECT_THAT(words, HasSubstr("a from d0 to d1 would give 2"));
}

// Two equal nodes on two devices: no move helps, and free links have no channel.
TEST(Limits, NothingLeftToMove) {
  const auto problem =
      test::uniform_problem(test::simple_graph({{"a", 1}, {"b", 1}}, {}, 0), 2, LinkMode::kFree);
  const auto placement = schedule::with_b_levels(*problem, {kFirst, kSecond});
  const Limits limits = find_limits(*problem, placement);
  EXPECT_FALSE(limits.best_move);
  EXPECT_FALSE(limits.busiest_channel.valid());
  EXPECT_DOUBLE_EQ(limits.compute, 1);
  EXPECT_THAT(render::limits_text(*problem, placement, limits),
              HasSubstr("No single move of a critical node improves it"));
}

// One device: there is nowhere to go, and nothing is said of moves.
TEST(Limits, OneDevice) {
  const auto problem =
      test::uniform_problem(test::simple_graph({{"a", 1}}, {}, 0), 1, LinkMode::kFree);
  const auto placement = schedule::with_b_levels(*problem, {kFirst});
  const Limits limits = find_limits(*problem, placement);
  EXPECT_EQ(limits.moves_tried, 0u);
  EXPECT_EQ(render::limits_text(*problem, placement, limits).find("move"), std::string::npos);
}

// a and b must share a device; c is free. All on d0: 3. The class moves as one: 2 on d1 beside c.
TEST(Limits, ColocatedNodesMoveTogether) {
  graph::GraphBuilder builder;
  std::vector<NodeId> nodes;
  for (const char* name : {"a", "b", "c"})
    nodes.push_back(builder.add_node({.name = name, .time = 1}));
  builder.constraints().colocated.push_back({nodes[0], nodes[1]});
  const auto problem = test::uniform_problem(std::move(builder).build(), 2, LinkMode::kFree);
  const auto placement = schedule::with_b_levels(*problem, {kFirst, kFirst, kFirst});
  const Limits limits = find_limits(*problem, placement);
  ASSERT_TRUE(limits.best_move);
  EXPECT_DOUBLE_EQ(limits.best_move->makespan, 2);
}

}  // namespace
}  // namespace doppler::analysis
