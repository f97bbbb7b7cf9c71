#include "doppler/policy/dual/episode_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "doppler/sim/simulator.h"
#include "support/finite_differences.h"
#include "support/graphs.h"
#include "support/random_problems.h"

namespace doppler::policy {
namespace {

constexpr DecisionMaker kLearned = DecisionMaker::kLearned,
                        kCriticalPath = DecisionMaker::kCriticalPath;

std::vector<double> random_parameters(const Network& network, std::uint64_t seed) {
  return test::random_parameters(network.parameters(), seed);
}

Episode sampled_episode(const Network& network, const NodeFeatures& nodes,
                        const std::vector<double>& parameters, std::uint64_t seed,
                        DualDesign design = {}) {
  NetworkEncoded<double> encoded;
  network.encode<double>(parameters, nodes, encoded);
  EpisodeSampler<double> sampler(nodes, PartialPlacement(nodes, network.shape().without), design);
  Rng rng(seed);
  Episode episode;
  sampler.sample(encoded, SamplingSettings::kSample, rng, episode);
  return episode;
}

// Both policies as a whole, and each beside the critical path's rule, with respect to every
// parameter, on problems of all sorts.
TEST(EpisodeSampler, GradientsAreThoseOfFiniteDifferences) {
  constexpr DualDesign kDesigns[] = {
      {}, {.node_choice = kCriticalPath}, {}, {.device_choice = kCriticalPath}};
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(seed);
    const DualDesign design = kDesigns[seed % 4];
    const auto problem = test::random_problem(2 + seed % 12, seed);
    const NodeFeatures nodes(*problem);
    const Network network({.width = 4,
                           .rounds = seed % 3,
                           .without = seed % 7 == 0 ? FeatureSet(0b1010) : FeatureSet()});
    std::vector<double> parameters = random_parameters(network, seed);
    const Episode episode = sampled_episode(network, nodes, parameters, seed, design);
    const LossWeights weights{.sel = 0.7, .plc = -1.3, .entropy = seed % 5 == 0 ? 0.9 : 0.0};
    EpisodeSampler<double> sampler(nodes, PartialPlacement(nodes, network.shape().without), design);
    const auto loss = [&](std::vector<double>* gradients) {
      NetworkEncoded<double> encoded;
      network.encode<double>(parameters, nodes, encoded);
      EpisodeGradients<double> d_episode;
      d_episode.clear(nodes.node_count(), network.shape().width);
      const LogProbability log = sampler.learn(encoded, episode, weights, nullptr, d_episode);
      if (gradients) {
        network.add_gradients<double>(parameters, nodes, encoded, d_episode, *gradients);
      }
      return -weights.sel * log.sel - weights.plc * log.plc - weights.entropy * log.entropy;
    };
    test::expect_gradients(parameters, loss);
  }
}

// Whether an episode was recorded while it was sampled or is computed again makes no difference.
TEST(EpisodeSampler, LearnsTheSameFromRecordsAsFromEpisodes) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    // Some have more steps than are learnt from together.
    const auto problem = test::random_problem(seed % 2 ? 20 + seed : 500 + seed, seed);
    const NodeFeatures nodes(*problem);
    const Network network({.width = 8, .rounds = 1});
    const std::vector<double> parameters = random_parameters(network, seed);
    NetworkEncoded<double> encoded;
    network.encode<double>(parameters, nodes, encoded);
    EpisodeSampler<double> sampler(nodes, PartialPlacement(nodes));
    Rng rng(seed);
    Episode episode;
    ChoiceRecord<double> record;
    sampler.sample(encoded, SamplingSettings::kSample, rng, episode, &record);
    EpisodeGradients<double> from_record, from_episode;
    from_record.clear(nodes.node_count(), 8);
    from_episode.clear(nodes.node_count(), 8);
    const LogProbability a = sampler.learn(encoded, episode, {}, &record, from_record);
    const LogProbability b = sampler.learn(encoded, episode, {}, nullptr, from_episode);
    EXPECT_EQ(a.sel, b.sel);
    EXPECT_NEAR(a.plc, b.plc, 1e-9 * std::abs(a.plc));
    EXPECT_EQ(from_record.scores, from_episode.scores);
    EXPECT_EQ(from_record.choice_base, from_episode.choice_base);
    EXPECT_EQ(from_record.choice_share, from_episode.choice_share);
    EXPECT_EQ(from_record.weights, from_episode.weights);
    EXPECT_EQ(from_record.last, from_episode.last);
  }
}

TEST(EpisodeSampler, SamplesPlacementsThatObeyTheConstraints) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    const auto problem = test::random_problem(2 + seed % 40, seed);
    const NodeFeatures nodes(*problem);
    const Network network({.width = 8, .rounds = 1});
    const Episode episode = sampled_episode(network, nodes, random_parameters(network, seed), seed);
    const schedule::Placement placement = to_placement(episode);
    schedule::check_placement(*problem, placement);
    EXPECT_EQ(to_episode(*problem, placement), episode);
  }
}

// The critical path's rule picks by b-level, and the device where the node can start first.
TEST(EpisodeSampler, FollowsTheCriticalPathWhereItIsTold) {
  // a (3) and b (5) are independent; both feed c.
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 3.0}, {"b", 5.0}, {"c", 1.0}}, {{"a", "c"}, {"b", "c"}}, 1.0), 2,
      cost::LinkMode::kFree);
  const NodeFeatures nodes(*problem);
  const Network network({.width = 4, .rounds = 1});
  const std::vector<double> parameters = random_parameters(network, 2);
  const DualDesign neither{.node_choice = kCriticalPath, .device_choice = kCriticalPath};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Episode episode = sampled_episode(network, nodes, parameters, seed, neither);
    // b first on device 0; a on device 1, which is free. c could start at 5 + 1 = 6 on device 1 and
    // at max(5, 3 + 1) = 5 on device 0.
    EXPECT_THAT(episode.order, testing::ElementsAre(NodeId(1), NodeId(0), NodeId(2)));
    EXPECT_THAT(episode.device, testing::ElementsAre(DeviceId(1), DeviceId(0), DeviceId(0)));
  }
  for (const DecisionMaker node_choice : {kLearned, kCriticalPath}) {
    const DualDesign design{.node_choice = node_choice,
                            .device_choice = node_choice == kLearned ? kCriticalPath : kLearned};
    NetworkEncoded<double> encoded;
    network.encode<double>(parameters, nodes, encoded);
    EpisodeSampler<double> sampler(nodes, PartialPlacement(nodes, network.shape().without), design);
    EpisodeGradients<double> gradients;
    gradients.clear(nodes.node_count(), 4);
    const LogProbability log = sampler.learn(
        encoded, sampled_episode(network, nodes, parameters, 1, design), {}, nullptr, gradients);
    EXPECT_EQ(log.sel < 0.0, node_choice == kLearned);
    EXPECT_EQ(log.plc < 0.0, node_choice == kCriticalPath);
  }
}

// Each order of three independent nodes with scores s has the chance of Plackett and Luce: the
// product over its steps of exp(s) over the sum of what is left.
TEST(EpisodeSampler, PicksNodesInProportionToTheirScores) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 1.0}, {"b", 2.0}, {"c", 3.0}}, {}, 0.0), 1, cost::LinkMode::kFree);
  const NodeFeatures nodes(*problem);
  const Network network({.width = 4, .rounds = 0});
  const std::vector<double> parameters = random_parameters(network, 1);
  NetworkEncoded<double> encoded;
  network.encode<double>(parameters, nodes, encoded);
  encoded.scores = {0.0, 1.0, -0.5};
  for (std::size_t v = 0; v < 3; ++v) encoded.rates[v] = std::exp(encoded.scores[v]);
  EpisodeSampler<double> sampler(nodes, PartialPlacement(nodes));
  Rng rng(5);
  std::map<std::vector<NodeId>, int> seen;
  constexpr int kEpisodes = 60'000;
  Episode episode;
  for (int i = 0; i < kEpisodes; ++i) {
    sampler.sample(encoded, SamplingSettings::kSample, rng, episode);
    ++seen[episode.order];
  }
  ASSERT_EQ(seen.size(), 6u);
  for (const auto& [order, count] : seen) {
    double chance = 1.0, left = 0.0;
    for (const double score : encoded.scores) left += std::exp(score);
    for (const NodeId node : order) {
      const double own = std::exp(encoded.scores[node.index()]);
      chance *= own / left;
      left -= own;
    }
    // Five standard deviations of a binomial distribution.
    EXPECT_NEAR(count, kEpisodes * chance, 5.0 * std::sqrt(kEpisodes * chance * (1.0 - chance)));
  }
}

// A slow node, and after it two that are fast: whatever their scores, nothing about SEL's choices
// in a chain is uncertain, and at a low temperature the faster of the two comes first.
TEST(EpisodeSampler, CopesWithScoresFarApart) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"slow", 1}, {"fast", 1}, {"faster", 1}, {"after", 1}},
                         {{"slow", "fast"}, {"slow", "faster"}, {"faster", "after"}}, 1.0),
      2, cost::LinkMode::kFree);
  const NodeFeatures nodes(*problem);
  const Network network({.width = 4, .rounds = 0});
  const std::vector<double> parameters = random_parameters(network, 1);
  NetworkEncoded<double> encoded;
  network.encode<double>(parameters, nodes, encoded);
  encoded.scores = {-19.0, 18.0, 19.0, -18.0};
  for (std::size_t v = 0; v < 4; ++v) encoded.rates[v] = std::exp(encoded.scores[v]);
  EpisodeSampler<double> sampler(nodes, PartialPlacement(nodes));
  Episode episode;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    sampler.sample(encoded, {.node_temperature = 0.05, .device_temperature = 0.05}, rng, episode);
    EXPECT_THAT(episode.order, testing::ElementsAre(NodeId(0), NodeId(2), NodeId(1), NodeId(3)));
  }
  EpisodeGradients<double> gradients;
  gradients.clear(nodes.node_count(), network.shape().width);
  sampler.learn(encoded, episode, {.sel = 1.0, .plc = 0.0}, nullptr, gradients);
  // faster was picked with chance 1 / (1 + 1 / e), all others for certain.
  const double missed = 1.0 / (1.0 + std::exp(1.0));
  const std::vector<double> expected = {0.0, missed, -missed, 0.0};
  for (std::size_t v = 0; v < 4; ++v) EXPECT_NEAR(gradients.scores[v], expected[v], 0.02) << v;
}

}  // namespace
}  // namespace doppler::policy
