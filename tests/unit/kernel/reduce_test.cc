#include "doppler/kernel/einsum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/kernels.h"

namespace doppler::kernel {
namespace {

using test::make_call;
using test::refusal;
using test::run_call;
using testing::ElementsAre;

template <class T = double>
std::vector<T> reduce(const char* op, const char* spec, Shape shape, const std::vector<T>& values) {
  return run_call<T>(make_call("reduce", {{"op", op}, {"spec", spec}}, {shape}), {values})[0];
}

TEST(Reduce, Ops) {
  const std::vector<double> values = {1, 2, 3, -4, -5, -6};
  EXPECT_THAT(reduce("sum", "ab->a", {2, 3}, values), ElementsAre(6, -15));
  EXPECT_THAT(reduce("sum", "ab->b", {2, 3}, values), ElementsAre(-3, -3, -3));
  EXPECT_THAT(reduce("max", "ab->a", {2, 3}, values), ElementsAre(3, -4));
  EXPECT_THAT(reduce("mean", "ab->a", {2, 3}, values), ElementsAre(2, -5));
  EXPECT_THAT(reduce("mean", "ab->", {2, 3}, values), ElementsAre(-1.5));
  EXPECT_THAT(reduce("sum", "ab->ba", {2, 3}, values), ElementsAre(1, -4, 2, -5, 3, -6));
  EXPECT_THAT(reduce("max", "->", {}, {7}), ElementsAre(7));
}

TEST(Reduce, OfNothing) {
  EXPECT_THAT(reduce("sum", "ab->a", {2, 0}, {}), ElementsAre(0, 0));
  EXPECT_THAT(reduce("sum", "ab->b", {2, 0}, {}), ElementsAre());
  EXPECT_THAT(reduce("max", "ab->a", {0, 2}, {}), ElementsAre());
  EXPECT_EQ(refusal("reduce", {{"op", "max"}, {"spec", "ab->a"}}, {{2, 0}}),
            "there is no max of no elements (label b is 0)");
  EXPECT_EQ(refusal("reduce", {{"op", "mean"}, {"spec", "ab->a"}}, {{2, 0}}),
            "there is no mean of no elements (label b is 0)");
}

TEST(Reduce, NotANumberSpreadsThroughMax) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& values : {std::vector<double>{nan, 1, 2}, {1, nan, 2}, {1, 2, nan}}) {
    EXPECT_TRUE(std::isnan(reduce("max", "a->", {3}, values)[0]));
  }
}

// Added one after the other, a million times 0.1f is off by 1 %; by halves it stays within a few
// units in the last place.
TEST(Reduce, LongSumsOfFloatsStayExact) {
  const std::vector<float> tenths(1'000'000, 0.1f);
  EXPECT_NEAR(reduce<float>("sum", "a->", {1'000'000}, tenths)[0], 100000.0f, 0.1f);
}

TEST(Reduce, Refusals) {
  EXPECT_EQ(refusal("reduce", {{"op", "min"}, {"spec", "ab->a"}}, {{2, 3}}),
            "the attribute 'op' must be sum, max or mean, not 'min'");
  EXPECT_EQ(refusal("reduce", {{"op", "sum"}}, {{2, 3}}), "the attribute 'spec' is missing");
  EXPECT_EQ(refusal("reduce", {{"spec", "ab->a"}}, {{2, 3}}), "the attribute 'op' is missing");
  EXPECT_EQ(refusal("reduce", {{"op", "sum"}, {"spec", "ab->c"}}, {{2, 3}}),
            "the output's label c is in no input");
  EXPECT_EQ(refusal("reduce", {{"op", "sum"}, {"spec", "ab->a"}}, {{2, 3}, {2}}),
            "takes 1 input, not 2");
}

}  // namespace
}  // namespace doppler::kernel
