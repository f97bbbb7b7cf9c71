#include "doppler/policy/baselines/placeto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/finite_differences.h"
#include "support/graphs.h"
#include "support/place_support.h"

namespace doppler::policy {
namespace {

TEST(PlacetoModel, GradientsAreThoseOfFiniteDifferences) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    const auto problem = test::random_problem(
        {.nodes = 2 + seed, .devices = 3, .constraints = seed % 2 == 0, .homes = true}, seed);
    const NodeFeatures nodes(*problem);
    const PlacetoNetwork network({.width = 4, .rounds = seed % 3, .devices = 3});
    std::vector<double> parameters = test::random_parameters(network.parameters(), seed);
    PlacetoSampler<double> sampler(network, nodes);
    Rng rng(seed);
    Episode episode;
    sampler.sample(parameters, SamplingSettings::kSample, rng, episode);
    test::expect_gradients(parameters, [&](std::vector<double>* gradients) {
      constexpr double kWeight = -1.3;
      const double entropy = seed % 2 == 0 ? 0.7 : 0.0;
      std::vector<double> unused(gradients ? 0 : parameters.size());
      const LogProbability learnt =
          sampler.learn(parameters, episode, {.log_probability = kWeight, .entropy = entropy},
                        gradients ? *gradients : unused);
      return -kWeight * learnt.plc - entropy * learnt.entropy;
    });
  }
}

TEST(PlacetoModel, KnowsWhatNodesAreToEachOther) {
  //  a -> b -> d, c -> d, e
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 1.0}, {"b", 1.0}, {"c", 1.0}, {"d", 1.0}, {"e", 1.0}},
                         {{"a", "b"}, {"b", "d"}, {"c", "d"}}, 1.0),
      2, cost::LinkMode::kFree);
  const NodeFeatures nodes(*problem);
  std::vector<Relation> relations;
  find_relations(nodes, NodeId(1), {true, false, true, false, false}, relations);
  EXPECT_THAT(relations, testing::ElementsAre(Relation::kAncestor, Relation::kItself,
                                              Relation::kVisitedParallel, Relation::kDescendant,
                                              Relation::kWaitingParallel));
}

TEST(PlacetoModel, IsForOneNumberOfDevices) {
  const auto problem = test::random_problem({.nodes = 5, .devices = 3}, 1);
  const NodeFeatures nodes(*problem);
  EXPECT_EQ(test::error_of<ParameterError>(
                [&] { PlacetoModel({.width = 4, .rounds = 1, .devices = 2}).rollout(nodes); }),
            "a policy of model placeto is for one number of devices: this one for 2, not for 3");
}

}  // namespace
}  // namespace doppler::policy
