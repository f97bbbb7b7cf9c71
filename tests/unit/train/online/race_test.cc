#include "doppler/train/online/race.h"

#include <gtest/gtest.h>

#include <cmath>

#include "doppler/base/error.h"
#include "doppler/base/rng.h"

namespace doppler::train {
namespace {

Race race_of(const std::vector<double>& ratios) {
  Race race;
  for (const double ratio : ratios) race.add(ratio, 1.0);
  return race;
}

// Ratios 0.9, 0.8, 5: the middle is 0.9. Noise 0.01: a pair deviates by 0.01 sqrt(2), the median of
// three by 1.2533 / sqrt(3) of that.
TEST(Race, TheMiddleOfThePairsCounts) {
  const Advantage found = race_of({0.9, 0.8, 5.0}).advantage(0.01);
  EXPECT_DOUBLE_EQ(found.log_ratio, std::log(0.9));
  EXPECT_NEAR(found.error, 0.01 * std::sqrt(2.0) * 1.2533 / std::sqrt(3.0), 1e-15);
}

// Four pairs or more have a deviation of their own: logs -2, -1, 0, 1, 2 have 1.4826.
TEST(Race, AnUnsteadyCandidateIsLessCertain) {
  Race race;
  race.restore({-2.0, -1.0, 0.0, 1.0, 2.0});
  EXPECT_NEAR(race.advantage(0.01).error, 1.2533 * 1.4826 / std::sqrt(5.0), 1e-12);
}

TEST(Race, DecidesBeyondTheNoiseOnly) {
  // 10 % faster with an error of 0.89 %: 0.105 > 2.6 x 0.0089.
  EXPECT_EQ(race_of({0.9, 0.9, 0.9, 0.9}).verdict(0.01, 0.1), Verdict::kBetter);
  // The same with ten times the noise.
  EXPECT_EQ(race_of({0.9, 0.9, 0.9, 0.9}).verdict(0.1, 0.1), Verdict::kOpen);
  EXPECT_EQ(race_of({1.1, 1.1, 1.1, 1.1}).verdict(0.01, 0.1), Verdict::kNotBetter);
  // Where the incumbent was slow in half of the pairs these do not agree: -0.35 with an error of
  // 1.2533 x 1.4826 x 0.35 / 2.
  EXPECT_EQ(race_of({0.5, 0.5, 1.0, 1.0}).verdict(0.01, 0.1), Verdict::kOpen);
  // Nothing is decided by two pairs, except that both were too slow.
  EXPECT_EQ(race_of({0.5, 0.5}).verdict(0.01, 0.1), Verdict::kOpen);
  EXPECT_EQ(race_of({1.2, 1.2}).verdict(0.01, 0.1), Verdict::kNotBetter);
  EXPECT_EQ(race_of({1.2, 1.05}).verdict(0.01, 0.1), Verdict::kOpen);
  // Equal ones end some time.
  EXPECT_EQ(race_of(std::vector<double>(Race::kMostPairs, 1.0)).verdict(0.1, 0.1),
            Verdict::kNotBetter);
}

TEST(Race, ASpikeOfEitherChangesNothing) {
  EXPECT_EQ(race_of({0.9, 50.0, 0.9, 0.9}).verdict(0.01, 0.1), Verdict::kBetter);
  EXPECT_EQ(race_of({1.05, 0.01, 1.05, 1.05}).verdict(0.01, 0.1), Verdict::kNotBetter);
}

// Equal placements with noise: how often does one win? The rule allows 0.5 % of looks; a race looks
// up to 28 times, most end early.
TEST(Race, EqualPlacementsRarelyWin) {
  int wins = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Rng rng(seed);
    Race race;
    Verdict verdict = Verdict::kOpen;
    while (verdict == Verdict::kOpen) {
      race.add(std::exp(0.02 * rng.normal()), std::exp(0.02 * rng.normal()));
      verdict = race.verdict(0.02, 0.1);
    }
    wins += verdict == Verdict::kBetter;
  }
  EXPECT_LT(wins, 80);  // 4 %
}

TEST(NoiseMeter, MeasuresSteps) {
  NoiseMeter meter;
  EXPECT_EQ(meter.noise(), 0.1);  // nothing known
  Rng rng(1);
  for (int i = 0; i < 400; ++i) {
    // A drift of a factor of 50 and spikes now and then, beside noise of 3 %.
    meter.add(std::exp(0.01 * i + 0.03 * rng.normal()) * (i % 20 == 0 ? 10.0 : 1.0));
  }
  EXPECT_NEAR(meter.noise(), 0.03, 0.01);
  NoiseMeter copy;
  copy.restore(meter.state());
  EXPECT_EQ(copy.noise(), meter.noise());
  copy.add(1.0);
  meter.add(1.0);
  EXPECT_EQ(copy.state(), meter.state());
  EXPECT_THROW(copy.restore({1.0}), InputError);
}

// Steps of 1 between runs of one placement; the step to another one does not count.
TEST(NoiseMeter, ForgetsTheLastRunOfAnotherPlacement) {
  NoiseMeter with, without;
  for (int i = 0; i < 5; ++i) with.add(1.0), without.add(1.0);
  without.interrupt();
  with.add(1000.0), without.add(1000.0);
  EXPECT_EQ(with.state().size(), without.state().size() + 1);
}

}  // namespace
}  // namespace doppler::train
