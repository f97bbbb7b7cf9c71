#include "doppler/base/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace doppler {
namespace {

using testing::ElementsAre;

TEST(Closest, NearestFirstWhateverTheCase) {
  // Letters to change: contract 1, reduce 6 or more, concat 3.
  EXPECT_THAT(closest("CONTRACTT", {"reduce", "concat", "contract"}),
              ElementsAre("contract", "concat", "reduce"));
}

TEST(Closest, ThreeAtMostAndEqualOnesInTheOrderGiven) {
  EXPECT_THAT(closest("x", {"d", "c", "b", "a"}), ElementsAre("d", "c", "b"));
  EXPECT_THAT(closest("x", {}), ElementsAre());
}

}  // namespace
}  // namespace doppler
