#include "doppler/train/offline/learner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "doppler/graph/builder.h"
#include "doppler/policy/policy.h"
#include "doppler/train/offline/training.h"
#include "doppler/train/session/checkpoint.h"
#include "support/graphs.h"

namespace doppler::train {
namespace {

class Divergence : public testing::Test {
 protected:
  std::vector<float> parameters() const {
    return {learner_.parameters().begin(), learner_.parameters().end()};
  }
  void move_to(float value) {
    learner_.restore(std::vector<float>(parameters().size(), value), learner_.optimiser());
  }

  std::unique_ptr<const policy::Model> model_ =
      policy::make_model(policy::Architecture::kDual, {.width = 4, .rounds = 1});
  Learner learner_{*model_, {}, std::vector<float>(model_->parameters().size(), 1.0f)};
  DivergenceWatch watch_{3};  // fewer problems than matter: a running mean over 50 batches
};

// 50 batches at a level of 0.1, then batches at 1: after k of them the level is 1 - 0.9 x 0.98^k,
// which is above 0.1 + 0.405 from k = 30 on (0.98^30 = 0.5455 < 0.55 = 0.495 / 0.9 < 0.98^29).
TEST_F(Divergence, TakesTheLearnerBackToWhereItWasGood) {
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(watch_.after_update(0.1, learner_));
  const std::vector<float> good = parameters();
  move_to(2.0f);
  for (int i = 1; i < 30; ++i) EXPECT_FALSE(watch_.after_update(1.0, learner_)) << i;
  EXPECT_EQ(watch_.rate_factor(), 1.0);
  EXPECT_TRUE(watch_.after_update(1.0, learner_));
  EXPECT_EQ(parameters(), good);
  EXPECT_EQ(watch_.rate_factor(), 0.5);
  // What it returned to is judged anew, over as many batches as at the beginning.
  for (int i = 1; i < 50; ++i) EXPECT_FALSE(watch_.after_update(1.0, learner_)) << i;
  EXPECT_TRUE(watch_.after_update(1.0, learner_));
  EXPECT_EQ(watch_.rate_factor(), 0.25);
}

TEST_F(Divergence, KeepsTheBestOfTheStatesSeen) {
  for (int i = 0; i < 50; ++i) watch_.after_update(0.3, learner_);
  move_to(2.0f);
  for (int i = 0; i < 500; ++i) watch_.after_update(0.1, learner_);
  const std::vector<float> good = parameters();
  move_to(3.0f);
  for (int i = 0; i < 500; ++i) EXPECT_FALSE(watch_.after_update(0.4, learner_));
  int batches = 0;
  while (!watch_.after_update(2.0, learner_)) ASSERT_LT(++batches, 100);
  EXPECT_EQ(parameters(), good);
}

TEST_F(Divergence, HasNothingToReturnToAtFirst) {
  for (int i = 0; i < 49; ++i) EXPECT_FALSE(watch_.after_update(0.01 * i * i, learner_));
  EXPECT_EQ(watch_.state().good_level, std::numeric_limits<double>::infinity());
}

// Nodes of one second that have nothing to do with each other, on eight devices.
std::shared_ptr<const cost::Problem> free_nodes() {
  graph::GraphBuilder builder;
  for (int i = 0; i < 64; ++i) {
    builder.add_output(builder.add_node({.name = fmt::format("n{}", i), .time = 1.0}), 0.0, 0.0);
  }
  return test::uniform_problem(std::move(builder).build(), 8, cost::LinkMode::kFree);
}

// What it begins with spreads the nodes; then come steps so long that each undoes all before it.
TEST(TrainingDivergence, IsNoticedAndCountedAlsoAfterACheckpoint) {
  const place::Registry methods = place::classical_methods();
  TrainingPlan plan{.shape = {.width = 8, .rounds = 1}, .episodes = 16 * 400};
  plan.rates = {0.0, 10.0};
  Training whole(plan, {free_nodes()}, methods), first(plan, {free_nodes()}, methods);
  while (!whole.done()) whole.update();
  EXPECT_GT(whole.state().rollbacks, 0u);
  for (const float x : whole.policy().parameters) ASSERT_TRUE(std::isfinite(x));
  for (int i = 0; i < 120; ++i) first.update();
  Training second(plan, {free_nodes()}, methods);
  second.restore(read_checkpoint_json("c.json", write_checkpoint_json(first.state())));
  while (!second.done()) second.update();
  EXPECT_EQ(write_checkpoint_json(second.state()), write_checkpoint_json(whole.state()));
}

}  // namespace
}  // namespace doppler::train
