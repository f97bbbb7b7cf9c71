#include "doppler/render/analysis_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graphs.h"

namespace doppler::analysis {
namespace {

using ::testing::HasSubstr;

// a(1) and b(1) on one device take 2, on two 1: moving b is all that matters.
TEST(PlacementDiff, AMoveAndWhatItGains) {
  const auto problem = test::uniform_problem(test::simple_graph({{"a", 1}, {"b", 1}}, {}, 0), 2,
                                             cost::LinkMode::kFree);
  const auto before = test::place(*problem, {{"a", "d0"}, {"b", "d0"}});
  const auto after = test::place(*problem, {{"a", "d0"}, {"b", "d1"}});
  const PlacementDiff diff = diff_placements(*problem, before, after);
  EXPECT_EQ(diff.makespan[0], 2.0);
  EXPECT_EQ(diff.makespan[1], 1.0);
  EXPECT_EQ(diff.moved_nodes, 1u);
  EXPECT_TRUE(diff.renamed.empty());
  EXPECT_FALSE(diff.order_differs);
  ASSERT_EQ(diff.groups.size(), 1u);
  EXPECT_EQ(diff.groups[0].nodes, 1u);
  EXPECT_EQ(diff.groups[0].alone, 1.0);
  EXPECT_EQ(diff.groups[0].without, 2.0);
  EXPECT_EQ(diff.nodes[0], (std::vector<std::size_t>{2, 0}));
  EXPECT_EQ(diff.nodes[1], (std::vector<std::size_t>{1, 1}));
  EXPECT_THAT(render::diff_text(*problem, diff), HasSubstr("-50.0 %"));
}

// The same on the other of two equal devices is no move at all.
TEST(PlacementDiff, RenamedDevicesAreSeen) {
  const auto problem =
      test::uniform_problem(test::simple_graph({{"a", 1}, {"b", 1}, {"c", 1}}, {{"a", "b"}}, 1), 2,
                            cost::LinkMode::kChannel);
  const auto before = test::place(*problem, {{"a", "d0"}, {"b", "d0"}, {"c", "d1"}});
  const auto after = test::place(*problem, {{"a", "d1"}, {"b", "d1"}, {"c", "d0"}});
  const PlacementDiff diff = diff_placements(*problem, before, after);
  EXPECT_EQ(diff.moved_as_named, 3u);
  EXPECT_EQ(diff.moved_nodes, 0u);
  ASSERT_EQ(diff.renamed.size(), 2u);
  EXPECT_EQ(diff.renamed[0], DeviceId(1));
  EXPECT_THAT(render::diff_text(*problem, diff), HasSubstr("d0 is now d1, d1 is now d0"));
}

// a(1) and b(3) with c(1) after b, all on d0: b first gives b 0-3, a 3-4, c on d1 3-4; a first
// gives a 0-1, b 1-4, c 4-5. The order alone is worth 1.
TEST(PlacementDiff, TheOrderAlone) {
  const auto problem =
      test::uniform_problem(test::simple_graph({{"a", 1}, {"b", 3}, {"c", 1}}, {{"b", "c"}}, 0), 2,
                            cost::LinkMode::kFree);
  const std::vector<std::pair<std::string, std::string>> devices = {
      {"a", "d0"}, {"b", "d0"}, {"c", "d1"}};
  const PlacementDiff diff =
      diff_placements(*problem, test::place(*problem, devices, {"a", "b", "c"}),
                      test::place(*problem, devices, {"b", "a", "c"}));
  EXPECT_EQ(diff.moved_nodes, 0u);
  EXPECT_TRUE(diff.groups.empty());
  EXPECT_TRUE(diff.order_differs);
  EXPECT_EQ(diff.makespan[0], 5.0);
  EXPECT_EQ(diff.order_alone, 4.0);
}

}  // namespace
}  // namespace doppler::analysis
