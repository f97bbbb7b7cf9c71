#include "doppler/policy/baselines/gdp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/finite_differences.h"
#include "support/place_support.h"

namespace doppler::policy {
namespace {

TEST(GdpModel, GradientsAreThoseOfFiniteDifferences) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    const auto problem = test::random_problem(
        {.nodes = 2 + seed, .devices = 3, .constraints = seed % 2 == 0, .homes = true}, seed);
    const NodeFeatures nodes(*problem);
    const GdpNetwork network({.width = 4, .rounds = seed % 3, .devices = 3});
    const std::vector<NodeId> order = list_order(nodes);
    std::vector<double> parameters = test::random_parameters(network.parameters(), seed);
    GdpSampler<double> sampler(nodes, order);
    GdpPass<double> pass;
    network.run<double>(parameters, nodes, order, pass);
    Rng rng(seed);
    Episode episode;
    sampler.sample(pass, SamplingSettings::kSample, rng, episode);
    test::expect_gradients(parameters, [&](std::vector<double>* gradients) {
      constexpr double kWeight = 0.7;
      network.run<double>(parameters, nodes, order, pass);
      nn::Matrix<double> d_scores;
      const double log = sampler.learn(pass, episode, kWeight, d_scores);
      if (gradients) {
        network.add_gradients<double>(parameters, nodes, order, pass, d_scores, *gradients);
      }
      return -kWeight * log;
    });
  }
}

TEST(GdpModel, IsForOneNumberOfDevices) {
  const auto problem = test::random_problem({.nodes = 5, .devices = 3}, 1);
  const NodeFeatures nodes(*problem);
  EXPECT_EQ(test::error_of<ParameterError>(
                [&] { GdpModel({.width = 4, .rounds = 1, .devices = 4}).rollout(nodes); }),
            "a policy of model gdp is for one number of devices: this one for 4, not for 3");
}

}  // namespace
}  // namespace doppler::policy
