#include "doppler/base/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace doppler {
namespace {

using List = std::vector<double>;

TEST(RankStatistics, SameAndOppositeOrder) {
  const List a{1, 2, 3, 4}, b{10, 200, 201, 5000}, c{4, 3, 2, 1};
  EXPECT_EQ(spearman(a, b), 1.0);
  EXPECT_EQ(kendall_tau_b(a, b), 1.0);
  EXPECT_EQ(spearman(a, c), -1.0);
  EXPECT_EQ(kendall_tau_b(a, c), -1.0);
}

// Ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4; less their mean -1.5, 0, 0, 1.5 and -1.5, 0.5, -0.5, 1.5:
// 4.5 / sqrt(4.5 x 5). Of 6 pairs 5 agree and one is equal in the first list: 5 / sqrt(5 x 6).
TEST(RankStatistics, EqualNumbersShareARank) {
  const List a{1, 2, 2, 3}, b{1, 3, 2, 4};
  EXPECT_DOUBLE_EQ(*spearman(a, b), 4.5 / std::sqrt(22.5));
  EXPECT_DOUBLE_EQ(*kendall_tau_b(a, b), 5.0 / std::sqrt(30.0));
}

// Ranks 1, 2, 3, 4, 5 and 2, 1, 4, 3, 5: 1 - 6 x 4 / (5 x 24). Two of ten pairs are swapped.
TEST(RankStatistics, TwoSwaps) {
  const List a{1, 2, 3, 4, 5}, b{20, 10, 40, 30, 50};
  EXPECT_DOUBLE_EQ(*spearman(a, b), 0.8);
  EXPECT_DOUBLE_EQ(*kendall_tau_b(a, b), 0.6);
}

TEST(RankStatistics, NothingToOrder) {
  const List a{1, 2, 3}, same{7, 7, 7}, one{1}, none;
  EXPECT_FALSE(spearman(a, same));
  EXPECT_FALSE(kendall_tau_b(same, a));
  EXPECT_FALSE(spearman(one, one));
  EXPECT_FALSE(kendall_tau_b(none, none));
}

// Measured 100, 101, 110, 200. Above 5 %: 100-110, 101-110 and all with 200, of which the
// prediction has 100-110 equal and 110-200 the wrong way round.
TEST(RankStatistics, PairsThatDifferEnough) {
  const List measured{100, 101, 110, 200}, predicted{50, 40, 50, 45};
  const PairAgreement found = pair_agreement(predicted, measured, 0.05);
  EXPECT_EQ(found.pairs, 5u);
  EXPECT_EQ(found.agreeing, 2u);  // 101-110 and 101-200; 100-200 is the wrong way round, too
  EXPECT_EQ(pair_agreement(predicted, measured, 0.0).pairs, 6u);
  EXPECT_EQ(pair_agreement(predicted, measured, 1.0).pairs, 0u);
  EXPECT_EQ(pair_agreement(List{0, 0}, List{0, 0}, 0.0).pairs, 0u);
}

}  // namespace
}  // namespace doppler
