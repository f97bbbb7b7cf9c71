// What a learner takes from a teacher, and how the paper's recipe explores.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "doppler/place/registry.h"
#include "doppler/policy/policy.h"
#include "doppler/train/offline/learner.h"
#include "doppler/train/offline/training.h"
#include "support/place_support.h"

namespace doppler::train {
namespace {

std::shared_ptr<const cost::Problem> small_problem() {
  return test::random_problem({.nodes = 12, .devices = 3, .kinds = 1}, 7);
}

// An episode that no list scheduler would play: everything on the last device, in the order of ids
// as far as producers allow.
policy::Episode odd_episode(const cost::Problem& problem) {
  const auto order = problem.graph().topological_order();
  return {.order = {order.begin(), order.end()},
          .device = std::vector<DeviceId>(problem.node_count(), DeviceId(2))};
}

// Imitation makes both policies more likely to do what the teacher did, until they do it.
TEST(Learner, ImitationMakesTheTeacherLikely) {
  const auto problem = small_problem();
  const policy::NetworkShape shape{.width = 8, .rounds = 1, .prior = policy::Prior::kNone};
  const auto model = policy::make_model(policy::Architecture::kDual, shape);
  Rng rng(2);
  Learner learner(*model, {}, model->parameters().random_values(rng));
  Task task(problem, *model);
  const std::vector<policy::Episode> teacher = {odd_episode(*problem)};
  const BatchReport first = learner.imitate(task, teacher, 1e-2);
  EXPECT_GT(first.gradient_length, 0.0);
  BatchReport last;
  for (int update = 0; update < 150; ++update) last = learner.imitate(task, teacher, 1e-2);
  EXPECT_GT(last.log_probability.sel, 0.5 * first.log_probability.sel);
  EXPECT_GT(last.log_probability.plc, 0.1 * first.log_probability.plc);
  Task fresh(problem, *model);
  learner.sample(fresh, 1, 1);  // the likeliest choices
  // All on one device; which one it is no policy can tell, since they are alike.
  const auto& device = fresh.best().device;
  EXPECT_EQ(std::count(device.begin(), device.end(), device.front()), std::ssize(device));
}

// By the paper's recipe an episode takes the likeliest choices but for a share of random ones. With
// rates that move nothing, every episode is therefore the same where that share is 0, and hardly
// any is like another where it is 1. It falls to 0 at the end.
TEST(Training, ThePapersRecipeExplores) {
  const auto times_with = [](double exploration) {
    TrainingPlan plan = TrainingPlan::of_paper();
    plan.shape.width = 8;
    plan.shape.rounds = 1;
    plan.imitation_episodes = 0;
    plan.episodes = 40;
    plan.rates = {1e-12, 1e-12};
    plan.exploration = exploration;
    const place::Registry methods = place::classical_methods();
    Training training(plan, {small_problem()}, methods);
    std::vector<double> times;
    while (!training.done()) times.push_back(training.update().batch.mean);
    return times;
  };
  const std::vector<double> still = times_with(0.0), moving = times_with(1.0);
  EXPECT_EQ(std::set<double>(still.begin(), still.end()).size(), 1u);
  EXPECT_GT(std::set<double>(moving.begin(), moving.begin() + 20).size(), 10u);
  EXPECT_EQ(moving.back(), still.back());
}

}  // namespace
}  // namespace doppler::train
