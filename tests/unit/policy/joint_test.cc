#include "doppler/policy/baselines/joint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "support/finite_differences.h"
#include "support/graphs.h"
#include "support/random_problems.h"

namespace doppler::policy {
namespace {

TEST(JointSampler, GradientsAreThoseOfFiniteDifferences) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const auto problem = test::random_problem(2 + seed, seed);
    const NodeFeatures nodes(*problem);
    const Network network({.width = 4, .rounds = seed % 3});
    std::vector<double> parameters = test::random_parameters(network.parameters(), seed);
    JointSampler<double> sampler(network, nodes);
    NetworkEncoded<double> encoded;
    network.encode<double>(parameters, nodes, encoded);
    Rng rng(seed);
    Episode episode;
    sampler.sample(encoded, SamplingSettings::kSample, rng, episode);
    test::expect_gradients(parameters, [&](std::vector<double>* gradients) {
      network.encode<double>(parameters, nodes, encoded);
      EpisodeGradients<double> d_episode;
      d_episode.clear(nodes.node_count(), network.shape().width);
      const double weight = seed % 2 ? 0.7 : -1.3;
      const double log = sampler.learn(encoded, episode, weight, d_episode);
      if (gradients) {
        network.add_gradients<double>(parameters, nodes, encoded, d_episode, *gradients);
      }
      return -weight * log;
    });
  }
}

// Two independent nodes on two devices: eight episodes, whose probabilities sum to 1 and are how
// often they are sampled.
TEST(JointSampler, SamplesEpisodesAsOftenAsItSays) {
  const auto problem = test::uniform_problem(test::simple_graph({{"a", 1.0}, {"b", 2.0}}, {}, 0.0),
                                             2, cost::LinkMode::kFree);
  const NodeFeatures nodes(*problem);
  const Network network({.width = 4, .rounds = 1});
  const std::vector<double> parameters = test::random_parameters(network.parameters(), 3);
  NetworkEncoded<double> encoded;
  network.encode<double>(parameters, nodes, encoded);
  JointSampler<double> sampler(network, nodes);
  constexpr int kEpisodes = 40'000;
  std::map<std::pair<std::vector<NodeId>, std::vector<DeviceId>>, int> seen;
  Rng rng(6);
  Episode episode;
  for (int i = 0; i < kEpisodes; ++i) {
    sampler.sample(encoded, SamplingSettings::kSample, rng, episode);
    ++seen[{episode.order, episode.device}];
  }
  ASSERT_EQ(seen.size(), 8u);
  double sum = 0.0;
  for (const auto& [key, count] : seen) {
    EpisodeGradients<double> d_episode;
    d_episode.clear(2, 4);
    const double chance = std::exp(
        sampler.learn(encoded, {.order = key.first, .device = key.second}, 1.0, d_episode));
    sum += chance;
    // Five standard deviations of a binomial distribution.
    EXPECT_NEAR(count, kEpisodes * chance, 5.0 * std::sqrt(kEpisodes * chance * (1.0 - chance)));
  }
  EXPECT_NEAR(sum, 1.0, 1e-9);
}

}  // namespace
}  // namespace doppler::policy
