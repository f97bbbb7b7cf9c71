#include "doppler/policy/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/api/load.h"
#include "doppler/base/hash.h"
#include "doppler/graph/builder.h"
#include "doppler/policy/dual/network.h"
#include "doppler/policy/features/node_features.h"
#include "support/errors.h"
#include "support/graphs.h"
#include "support/place_support.h"
#include "support/random_problems.h"

namespace doppler::policy {
namespace {

using testing::HasSubstr;

Policy some_policy() {
  Policy policy{.shape = {.width = 8, .rounds = 2}, .parameters = {}, .domain = {}};
  Rng rng(4);
  policy.parameters = Network(policy.shape).parameters().random_values(rng);
  const auto problem = test::random_problem(30, 2);
  policy.domain.include(NodeFeatures(*problem));
  policy.origin = "a test";
  return policy;
}

std::string error_of(const std::string& text) {
  return test::error_of<InputError>([&] { read_policy_json("p.json", text); });
}

std::string with(std::string text, const std::string& old, const std::string& replacement) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return text.replace(at, old.size(), replacement);
}

TEST(Policy, WhatIsWrittenReadsBackTheSame) {
  const Policy policy = some_policy();
  const std::string text = write_policy_json(policy);
  const Policy read = read_policy_json("p.json", text);
  EXPECT_EQ(read.shape, policy.shape);
  EXPECT_EQ(read.parameters, policy.parameters);
  EXPECT_EQ(read.origin, policy.origin);
  EXPECT_EQ(write_policy_json(read), text);

  Policy other = policy;
  other.shape.prior = Prior::kNone;
  EXPECT_EQ(read_policy_json("p.json", write_policy_json(other)).shape, other.shape);
  EXPECT_THAT(error_of(with(text, "\"prior\": \"list\"", "\"prior\": \"none\"")),
              HasSubstr("damaged"));
  EXPECT_THAT(error_of(with(text, "\"prior\": \"list\"", "\"prior\": \"luck\"")),
              HasSubstr("unknown prior 'luck'"));
}

// Returns the text with the checksum that belongs to it.
std::string resealed(const std::string& text) {
  const std::string key = "\"checksum\": ";
  const std::size_t end = text.find(key) + key.size();
  Hasher hasher;
  hasher.add_bytes(text.substr(0, end));
  return text.substr(0, end) + "\"" + hash_to_string(hasher.value()) + "\"\n}\n";
}

// Files from before there was more than one model.
TEST(Policy, WithoutAModelIsDual) {
  std::string text = write_policy_json(some_policy());
  text = with(text, "\"model\": \"dual\",", "");
  text = with(text, "\"priorities\": \"sel\",", "");
  const Policy read = read_policy_json("p.json", resealed(text));
  EXPECT_EQ(read.architecture, Architecture::kDual);
  EXPECT_EQ(read.priorities, Priorities::kOrder);
}

TEST(Policy, DamagedAndForeignOnesAreRefusedWithAReason) {
  const std::string text = write_policy_json(some_policy());
  EXPECT_THAT(error_of(""), HasSubstr("p.json:1:1"));
  EXPECT_THAT(error_of("{}"), HasSubstr("not a doppler.policy file"));
  EXPECT_THAT(error_of(with(text, "\"version\": 1", "\"version\": 2")), HasSubstr("newer doppler"));
  EXPECT_THAT(error_of(with(text, "\"version\": 1", "\"version\": 0")), HasSubstr("no version 0"));
  EXPECT_THAT(error_of(resealed(with(text, "\"width\": 8", "\"width\": 9"))),
              HasSubstr("damaged: expected"));
  EXPECT_THAT(error_of(with(text, "\"model\": \"dual\"", "\"model\": \"triple\"")),
              HasSubstr("unknown model 'triple'"));
  EXPECT_THAT(error_of(with(text, "\"model\": \"dual\"", "\"model\": \"sel-only\"")),
              HasSubstr("checksum"));
  EXPECT_THAT(error_of(with(text, "\"priorities\": \"sel\"", "\"priorities\": \"none\"")),
              HasSubstr("unknown priorities 'none'"));
  EXPECT_THAT(error_of(resealed(with(text, "\"rounds\": 2", "\"rounds\": 2, \"devices\": 3"))),
              HasSubstr("a policy of model dual is for any number of devices"));
  EXPECT_THAT(error_of(with(text, "\"features\": \"", "\"features\": \"0")),
              HasSubstr("features that this doppler does not have"));
  const std::size_t at = text.find("\"parameters\": \"") + 15;
  std::string flipped = text;
  flipped[at] = flipped[at] == 'A' ? 'B' : 'A';
  EXPECT_THAT(error_of(flipped), HasSubstr("checksum"));
  EXPECT_THAT(error_of(text.substr(0, text.size() / 2)), HasSubstr("p.json:"));
}

// Whatever decides what a policy does is inside the checksum.
TEST(Policy, EditedOnesAreRefused) {
  const std::string text = write_policy_json(some_policy());
  EXPECT_THAT(error_of(with(text, "\"priorities\": \"sel\"", "\"priorities\": \"b-level\"")),
              HasSubstr("checksum"));
  EXPECT_THAT(error_of(with(text, "\"log_nodes\": [", "\"log_nodes\": [1")), HasSubstr("checksum"));
  EXPECT_THAT(error_of(with(text, ",\n \"checksum\"", ", \"checksum\"")), HasSubstr("checksum"));
  std::string without = text.substr(0, text.rfind(','));
  EXPECT_THAT(error_of(without + "}"), HasSubstr("the checksum of the policy is missing"));
}

TEST(Policy, SaysWhatItHasNotSeenTheLikeOf) {
  const Policy policy = some_policy();
  EXPECT_EQ(policy.domain.unfamiliar_traits(NodeFeatures(*test::random_problem(30, 2))), "");
  std::vector<test::TestNode> nodes;
  for (int i = 0; i < 3000; ++i) nodes.push_back({std::to_string(i), 1.0});
  const auto wide =
      test::uniform_problem(test::simple_graph(nodes, {}, 0.0), 64, cost::LinkMode::kFree);
  const std::string words = policy.domain.unfamiliar_traits(NodeFeatures(*wide));
  EXPECT_THAT(words, HasSubstr("number of nodes"));
  EXPECT_THAT(words, HasSubstr("number of devices"));
}

// Transfers of 1 KB between A100s are nearly all latency, those of 1 GB nearly all bytes.
TEST(Policy, SaysThatItHasNotSeenSuchLatencies) {
  Policy policy = some_policy();
  policy.domain = {};  // says nothing of latencies
  for (Range Domain::*range : {&Domain::log_nodes, &Domain::log_devices, &Domain::traffic,
                               &Domain::parallelism, &Domain::device_spread}) {
    policy.domain.*range = {-100.0, 100.0};
  }
  policy.domain.empty = false;
  const auto traits = [&](double bytes) {
    graph::GraphBuilder builder;
    const NodeId a = builder.add_node({.name = "a", .op = "matmul", .flops = 1e9});
    const NodeId b = builder.add_node({.name = "b", .op = "matmul", .flops = 1e9});
    builder.connect(builder.add_output(a, bytes), b);
    const auto problem = api::make_problem(std::move(builder).build(), "4xA100");
    return policy.domain.unfamiliar_traits(NodeFeatures(*problem));
  };
  EXPECT_EQ(traits(1e9), "");
  EXPECT_EQ(traits(1e3), "latencies");
  policy.domain.latency = {0.0, 1.0};  // trained on such graphs
  EXPECT_EQ(traits(1e3), "");
}

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
