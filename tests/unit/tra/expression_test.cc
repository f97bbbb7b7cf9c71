#include "doppler/tra/expression.h"

#include <gtest/gtest.h>

#include "doppler/tra/operations.h"
#include "support/tra.h"

namespace doppler::tra {
namespace {

// A call per level would need far more stack than there is.
TEST(Expression, DeepOnesAreReleasedWithoutRecursion) {
  Relation x = test::dense_input("x", {{"i", 2}});
  for (int i = 0; i < 200'000; ++i) x = shift(x, 1.0);
  const Relation copy = x;
  x = test::dense_input("y", {{"i", 2}});
  const Relation roots[] = {copy};
  EXPECT_EQ(in_order(roots).size(), 200'001u);
}

TEST(Expression, SharedPartsOutliveTheirUsers) {
  const Relation x = test::dense_input("x", {{"i", 2}});
  const Relation y = apply("exp", x);
  {
    const Relation z = add(y, apply("log", y));
    EXPECT_EQ(z->operands.size(), 2u);
  }
  EXPECT_EQ(y->operands[0].get(), x.get());
  Relation self = y;
  const Relation& same = self;
  self = same;
  EXPECT_EQ(self.get(), y.get());
}

}  // namespace
}  // namespace doppler::tra
