#include "lab/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lab/experiment.h"

namespace doppler::lab {
namespace {

TEST(Statistics, QuantilesOfStudentsT) {
  EXPECT_DOUBLE_EQ(student_t(1), 12.706);
  EXPECT_DOUBLE_EQ(student_t(4), 2.776);
  // From tables: 2.0211 with 40 degrees of freedom, 1.9840 with 100; the normal one in the end.
  EXPECT_NEAR(student_t(40), 2.0211, 3e-4);
  EXPECT_NEAR(student_t(100), 1.9840, 3e-4);
  EXPECT_NEAR(student_t(1'000'000), 1.95996, 1e-5);
}

// 1, 2, 3: a standard deviation of 1, so that the half width is 4.303 / sqrt(3).
TEST(Statistics, MeansHaveIntervals) {
  const Estimate mean = mean_of(std::vector<double>{1, 2, 3});
  EXPECT_DOUBLE_EQ(mean.value, 2.0);
  EXPECT_NEAR(mean.high - mean.value, 4.303 / std::sqrt(3.0), 1e-12);
  EXPECT_NEAR(mean.value - mean.low, 4.303 / std::sqrt(3.0), 1e-12);
  EXPECT_FALSE(mean_of({}).present());
  const Estimate one = mean_of(std::vector<double>{5});
  EXPECT_EQ(one.value, 5.0);
  EXPECT_FALSE(one.has_interval());
  EXPECT_TRUE(std::isnan(one.low));
}

// Logarithms 0 and ln 4: mean ln 2, standard deviation ln 4 / sqrt 2, half width 12.706 ln 4 / 2.
TEST(Statistics, GeometricMeans) {
  const Estimate mean = geometric_mean_of(std::vector<double>{1, 4});
  EXPECT_NEAR(mean.value, 2.0, 1e-12);
  EXPECT_NEAR(std::log(mean.high / mean.value), 12.706 * std::log(4.0) / 2.0, 1e-9);
  EXPECT_FALSE(geometric_mean_of({}).present());
}

TEST(Statistics, GrowthExponents) {
  const std::vector<double> x{1, 10, 100, 1000};
  std::vector<double> squares;
  for (const double value : x) squares.push_back(3.0 * value * value);
  const Estimate exact = growth_exponent(x, squares);
  EXPECT_NEAR(exact.value, 2.0, 1e-12);
  EXPECT_NEAR(exact.high, 2.0, 1e-6);
  // One point off: the interval holds the slope and has a width.
  squares[1] *= 1.5;
  const Estimate near = growth_exponent(x, squares);
  EXPECT_LT(near.low, 2.0);
  EXPECT_GT(near.high, 2.0);
  EXPECT_FALSE(growth_exponent(std::vector<double>{1, 2}, std::vector<double>{1, 2}).present());
  EXPECT_FALSE(
      growth_exponent(std::vector<double>{2, 2, 2}, std::vector<double>{1, 2, 3}).present());
}

TEST(Statistics, AsText) {
  EXPECT_EQ(text_of({.value = 0.2197, .low = 0.2186, .high = 0.2208, .samples = 3}, 1e3),
            "219.7 ± 1.1");
  EXPECT_EQ(text_of({.value = 0.2197, .low = 0.2197, .high = 0.2197, .samples = 3}, 1e3), "219.7");
  EXPECT_EQ(text_of({.value = 1234.5, .samples = 1}), "1234");
  EXPECT_EQ(text_of({}), "-");
  EXPECT_EQ(ratio_text({.value = 0.97, .low = 0.95, .high = 0.99, .samples = 3}),
            "0.970 (0.950 to 0.990)");
  EXPECT_EQ(ratio_text({.value = 0.97, .samples = 1}), "0.970");
  EXPECT_EQ(ratio_text({}), "-");
}

TEST(Verdicts, NeedTheWholeInterval) {
  const Estimate below{.value = 0.9, .low = 0.85, .high = 0.95, .samples = 3};
  const Estimate unsure{.value = 0.98, .low = 0.95, .high = 1.01, .samples = 3};
  const Estimate above{.value = 1.2, .low = 1.1, .high = 1.3, .samples = 3};
  const auto verdict = [](std::vector<GraphRatio> ratios) {
    return less_is_better("c", "p", ratios).verdict;
  };
  EXPECT_EQ(verdict({{"a", below}, {"b", below}}), Verdict::kConfirmed);
  EXPECT_EQ(verdict({{"a", below}, {"b", unsure}}), Verdict::kPartly);
  EXPECT_EQ(verdict({{"a", unsure}, {"b", above}}), Verdict::kNotConfirmed);
  EXPECT_EQ(verdict({}), Verdict::kOpen);
  EXPECT_EQ(verdict({{"a", {}}}), Verdict::kOpen);
  EXPECT_EQ(verdict({{"a", below}, {"b", {}}}), Verdict::kPartly);
  EXPECT_EQ(less_is_better("c", "p", {{"a", below}, {"b", {}}}).ours,
            "a 0.900 (0.850 to 0.950). So on 1 of 2, absent on 1");
  EXPECT_EQ(more_is_better("c", "p", {{"a", above}}).verdict, Verdict::kConfirmed);
  EXPECT_EQ(
      less_is_better("c", "p", {{"a", below}, {"b", above}}).ours,
      "a 0.900 (0.850 to 0.950), b 1.200 (1.100 to 1.300); geometric mean 1.039. So on 1 of 2, "
      "the opposite on 1");
}

}  // namespace
}  // namespace doppler::lab
