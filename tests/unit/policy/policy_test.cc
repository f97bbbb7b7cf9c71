#include "doppler/policy/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/graphs.h"
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

// Files from before there was more than one model.
TEST(Policy, WithoutAModelIsDual) {
  std::string text = write_policy_json(some_policy());
  text = with(text, "\"model\": \"dual\",", "");
  text = with(text, "\"priorities\": \"sel\",", "");
  const Policy read = read_policy_json("p.json", text);
  EXPECT_EQ(read.architecture, Architecture::kDual);
  EXPECT_EQ(read.priorities, Priorities::kOrder);
}

TEST(Policy, DamagedAndForeignOnesAreRefusedWithAReason) {
  const std::string text = write_policy_json(some_policy());
  EXPECT_THAT(error_of(""), HasSubstr("p.json:1:1"));
  EXPECT_THAT(error_of("{}"), HasSubstr("not a doppler.policy file"));
  EXPECT_THAT(error_of(with(text, "\"version\": 1", "\"version\": 2")), HasSubstr("newer doppler"));
  EXPECT_THAT(error_of(with(text, "\"version\": 1", "\"version\": 0")), HasSubstr("no version 0"));
  EXPECT_THAT(error_of(with(text, "\"width\": 8", "\"width\": 9")), HasSubstr("damaged: expected"));
  EXPECT_THAT(error_of(with(text, "\"model\": \"dual\"", "\"model\": \"triple\"")),
              HasSubstr("unknown model 'triple'"));
  EXPECT_THAT(error_of(with(text, "\"model\": \"dual\"", "\"model\": \"sel-only\"")),
              HasSubstr("checksum"));
  EXPECT_THAT(error_of(with(text, "\"priorities\": \"sel\"", "\"priorities\": \"none\"")),
              HasSubstr("unknown priorities 'none'"));
  EXPECT_THAT(error_of(with(text, "\"rounds\": 2", "\"rounds\": 2, \"devices\": 3")),
              HasSubstr("a policy of model dual is for any number of devices"));
  EXPECT_THAT(error_of(with(text, "\"features\": \"", "\"features\": \"0")),
              HasSubstr("features that this doppler does not have"));
  const std::size_t at = text.find("\"parameters\": \"") + 15;
  std::string flipped = text;
  flipped[at] = flipped[at] == 'A' ? 'B' : 'A';
  EXPECT_THAT(error_of(flipped), HasSubstr("checksum"));
  EXPECT_THAT(error_of(text.substr(0, text.size() / 2)), HasSubstr("p.json:"));
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

}  // namespace
}  // namespace doppler::policy
