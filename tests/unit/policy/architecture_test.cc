#include "doppler/policy/architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/place_support.h"

namespace doppler::policy {
namespace {

NetworkShape small_shape(Architecture architecture, std::size_t devices) {
  return {.width = 8, .rounds = 1, .devices = needs_device_count(architecture) ? devices : 0};
}

TEST(Architecture, HasANameThatIsFound) {
  for (const std::string_view name : architecture_names()) {
    EXPECT_EQ(architecture_name(architecture_named(name)), name);
  }
  EXPECT_THAT(test::error_of<ParameterError>([] { architecture_named("triple"); }),
              testing::HasSubstr("unknown model 'triple'; there are dual, sel-only, plc-only"));
}

// Pins, forbidden devices, colocated nodes, nodes that a kind of device cannot run, little memory.
TEST(Architecture, EveryModelObeysTheConstraints) {
  constexpr std::size_t kDevices = 4;
  for (const std::string_view name : architecture_names()) {
    const Architecture architecture = architecture_named(name);
    const auto model = make_model(architecture, small_shape(architecture, kDevices));
    Rng start(3);
    const std::vector<float> parameters = model->parameters().random_values(start);
    const auto workspace = model->workspace();
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(testing::Message() << name << ", seed " << seed);
      const auto problem = test::random_problem({.nodes = 5 + seed,
                                                 .devices = kDevices,
                                                 .constraints = true,
                                                 .homes = true,
                                                 .updates = true,
                                                 .memory_bytes = seed % 3 == 0 ? 2e3 : 0.0},
                                                seed);
      const NodeFeatures nodes(*problem);
      const auto rollout = model->rollout(nodes);
      rollout->prepare(parameters, *workspace, 2, 1);
      for (const SamplingSettings& settings :
           {SamplingSettings::kSample, SamplingSettings::kGreedy}) {
        Rng rng(seed);
        Episode episode;
        rollout->sample(0, 0, settings, rng, episode);
        const schedule::Placement placement = to_placement(episode);
        schedule::check_placement(*problem, placement);
        // The order is one that a list scheduler can pick.
        EXPECT_EQ(to_episode(*problem, placement).order, episode.order);
      }
    }
  }
}

// Whether a slot learns from what it sampled or from the episode, and what other slots do, makes no
// difference.
TEST(Architecture, EveryModelLearnsTheSameFromEpisodesAsFromSampling) {
  for (const std::string_view name : architecture_names()) {
    SCOPED_TRACE(name);
    const Architecture architecture = architecture_named(name);
    const auto model = make_model(architecture, small_shape(architecture, 3));
    Rng start(5);
    const std::vector<float> parameters = model->parameters().random_values(start);
    const auto problem = test::random_problem({.nodes = 20, .devices = 3}, 7);
    const NodeFeatures nodes(*problem);
    const auto rollout = model->rollout(nodes);
    const auto workspace = model->workspace();
    rollout->prepare(parameters, *workspace, 2, 2);
    std::vector<Episode> episodes(2);
    for (std::size_t i = 0; i < 2; ++i) {
      Rng rng = Rng::stream(9, i);
      rollout->sample(i, i, SamplingSettings::kSample, rng, episodes[i]);
    }
    const auto learnt = [&](bool sampled, std::size_t thread) {
      for (std::size_t i = 0; i < 2; ++i) {
        const LogProbability log = rollout->learn(thread, i, episodes[i], {i + 0.5}, sampled);
        EXPECT_LT(log.sel + log.plc, 0.0);
      }
      std::vector<float> gradients(parameters.size(), 0.0f);
      rollout->add_gradients(2, gradients);
      return gradients;
    };
    const std::vector<float> from_samples = learnt(true, 0);
    EXPECT_EQ(learnt(false, 1), from_samples);
    EXPECT_TRUE(
        std::any_of(from_samples.begin(), from_samples.end(), [](float x) { return x != 0; }));
  }
}

}  // namespace
}  // namespace doppler::policy
