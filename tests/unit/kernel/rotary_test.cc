#include "doppler/kernel/rearrange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/kernels.h"

namespace doppler::kernel {
namespace {

using test::make_call;
using test::refusal;
using test::run_call;

// Pair (i, i + d/2) turns by position * theta^(-2i/d).
TEST(Rotary, TurnsPairsByTheirPosition) {
  const KernelCall call =
      make_call("rotary", {{"position", "1"}, {"offset", "5"}, {"theta", "100"}}, {{2, 3, 2, 4}});
  Rng rng(1);
  const auto x = test::random_values(rng, call.inputs[0]);
  const auto y = run_call<double>(call, {x})[0];
  test::for_each_index({2, 3, 2, 2}, [&](const Shape& index) {
    const double angle = static_cast<double>(5 + index[1]) * std::pow(100.0, -index[3] / 2.0);
    const std::size_t low = test::position({2, 3, 2, 4}, index), high = low + 2;
    EXPECT_NEAR(y[low], x[low] * std::cos(angle) - x[high] * std::sin(angle), 1e-14);
    EXPECT_NEAR(y[high], x[high] * std::cos(angle) + x[low] * std::sin(angle), 1e-14);
  });
}

TEST(Rotary, InverseTurnsBack) {
  Rng rng(2);
  const Shape shape = {5, 1, 6};
  const auto x = test::random_values(rng, shape);
  const auto y = run_call<double>(make_call("rotary", {{"position", "0"}}, {shape}), {x})[0];
  const auto back =
      run_call<double>(make_call("rotary", {{"position", "0"}, {"inverse", "1"}}, {shape}), {y})[0];
  EXPECT_THAT(back, testing::Pointwise(testing::DoubleNear(1e-14), x));
}

TEST(Rotary, OfNothing) {
  for (const Shape& shape : {Shape{0, 4}, Shape{3, 0}}) {
    EXPECT_THAT(run_call<double>(make_call("rotary", {{"position", "0"}}, {shape}), {{}})[0],
                testing::IsEmpty());
  }
}

TEST(Rotary, Refusals) {
  EXPECT_EQ(refusal("rotary", {{"position", "0"}}, {{2, 3}}), "the last dimension must be even");
  EXPECT_EQ(refusal("rotary", {}, {{2, 4}}), "the attribute 'position' is missing");
  EXPECT_EQ(refusal("rotary", {{"position", "1"}}, {{2, 4}}),
            "the attribute 'position' cannot be the last dimension, which is rotated");
  EXPECT_EQ(refusal("rotary", {{"position", "0"}}, {{}}),
            "the attribute 'position' is no dimension of []");
  EXPECT_EQ(refusal("rotary", {{"position", "0"}, {"theta", "0"}}, {{2, 4}}),
            "the attribute 'theta' must be above 0");
  EXPECT_EQ(refusal("rotary", {{"position", "0"}, {"inverse", "2"}}, {{2, 4}}),
            "the attribute 'inverse' must be 0 or 1, not '2'");
  EXPECT_EQ(refusal("rotary", {{"position", "0"}, {"base", "2"}}, {{2, 4}}),
            "there is no attribute 'base'; there are position, offset, theta, inverse");
}

}  // namespace
}  // namespace doppler::kernel
