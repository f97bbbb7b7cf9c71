// The paths along which a policy looks ahead and back.
#include <gtest/gtest.h>

#include "doppler/policy/features/node_features.h"
#include "support/graphs.h"

namespace doppler::policy {
namespace {

// a (1) -> b (5) -> d (1), a -> c (2) -> d, and c -> e (9), on two devices; transfers take 1.
// Longest paths to an exit: d 1, e 9, b 5 + 1 + 1 = 7, c 2 + 1 + 9 = 12, so that a goes on by way
// of c. Before d there are b, which ends at 1 + 1 + 5 = 7 at best, and c, which ends at 4: d comes
// by way of b.
TEST(NodeFeatures, PathsFollowTheLongestWay) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 1.0}, {"b", 5.0}, {"c", 2.0}, {"d", 1.0}, {"e", 9.0}},
                         {{"a", "b"}, {"a", "c"}, {"b", "d"}, {"c", "d"}, {"c", "e"}}, 1.0),
      2, cost::LinkMode::kFree);
  const NodeFeatures nodes(*problem);
  const std::vector<std::uint32_t> ahead = {2, 3, 4, 3, 4}, behind = {0, 0, 0, 1, 2};
  EXPECT_EQ(nodes.ahead(), ahead);
  EXPECT_EQ(nodes.behind(), behind);
}

}  // namespace
}  // namespace doppler::policy
