#include "doppler/policy/baselines/stepwise.h"

#include <gtest/gtest.h>

#include "support/finite_differences.h"
#include "support/random_problems.h"

namespace doppler::policy {
namespace {

TEST(StepwiseModel, GradientsAreThoseOfFiniteDifferences) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    const auto problem = test::random_problem(2 + seed, seed);
    const NodeFeatures nodes(*problem);
    const Network network({.width = 4, .rounds = seed % 3}, kAssignmentFeatures);
    std::vector<double> parameters = test::random_parameters(network.parameters(), seed);
    StepwiseSampler<double> sampler(network, nodes);
    Rng rng(seed);
    Episode episode;
    sampler.sample(parameters, SamplingSettings::kSample, rng, episode);
    test::expect_gradients(parameters, [&](std::vector<double>* gradients) {
      constexpr double kWeight = 0.7;
      std::vector<double> unused(gradients ? 0 : parameters.size());
      const LogProbability log = sampler.learn(parameters, episode, {.log_probability = kWeight},
                                               gradients ? *gradients : unused);
      return -kWeight * (log.sel + log.plc);
    });
  }
}

}  // namespace
}  // namespace doppler::policy
