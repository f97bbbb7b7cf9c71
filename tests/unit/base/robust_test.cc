#include "doppler/base/statistics.h"

#include <gtest/gtest.h>

namespace doppler {
namespace {

TEST(Robust, MedianIsTheMiddleOrTheMeanOfTwo) {
  EXPECT_EQ(median({3.0}), 3.0);
  EXPECT_EQ(median({5.0, 1.0, 100.0}), 5.0);
  EXPECT_EQ(median({1.0, 2.0, 4.0, 1000.0}), 3.0);
}

// Of four the two in the middle; of five one at either end goes, and one more; of two both stay.
TEST(Robust, MiddleMeanLeavesOutAQuarterAtEitherEnd) {
  EXPECT_EQ(middle_mean({1.0, 2.0, 4.0, 1000.0}), 3.0);
  EXPECT_EQ(middle_mean({-1000.0, 2.0, 3.0, 4.0, 1000.0}), 3.0);
  EXPECT_EQ(middle_mean({1.0, 3.0}), 2.0);
  EXPECT_EQ(middle_mean({7.0}), 7.0);
}

// Median 3, distances 2, 1, 0, 1, 97: their median is 1.
TEST(Robust, DeviationDoesNotSeeOneWildValue) {
  EXPECT_DOUBLE_EQ(robust_deviation({1.0, 2.0, 3.0, 4.0, 100.0}), 1.4826);
  EXPECT_EQ(robust_deviation({7.0, 7.0, 7.0}), 0.0);
}

}  // namespace
}  // namespace doppler
