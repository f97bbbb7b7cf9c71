#include "doppler/train/offline/training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "doppler/place/registry.h"
#include "doppler/train/session/checkpoint.h"
#include "support/errors.h"
#include "support/graphs.h"
#include "support/place_support.h"
#include "support/random_problems.h"

namespace doppler::train {
namespace {

using Problems = std::vector<std::shared_ptr<const cost::Problem>>;

Problems problems() {
  return {test::random_problem(20, 3), test::random_problem(35, 4), test::random_problem(9, 5)};
}

TrainingPlan small_plan(int threads) {
  return {.shape = {.width = 8, .rounds = 1},
          .imitation_episodes = 64,
          .episodes = 320,
          .learner = {.batch = 8, .threads = threads}};
}

TEST(Training, GivesTheSameBitsOnAnyNumberOfThreads) {
  const place::Registry methods = place::classical_methods();
  Training one(small_plan(1), problems(), methods), three(small_plan(3), problems(), methods);
  while (!one.done()) one.update();
  while (!three.done()) three.update();
  EXPECT_EQ(one.policy().parameters, three.policy().parameters);
  EXPECT_EQ(one.state().best_times, three.state().best_times);
}

// The same of every model; those for one number of devices get problems that have it.
TEST(Training, GivesTheSameBitsOnAnyNumberOfThreadsWithEveryModel) {
  const place::Registry methods = place::classical_methods();
  for (const std::string_view name : policy::architecture_names()) {
    SCOPED_TRACE(name);
    const auto trained = [&](int threads) {
      TrainingPlan plan = small_plan(threads);
      plan.architecture = policy::architecture_named(name);
      plan.imitation_episodes = 16;
      plan.episodes = 32;
      plan.priorities = policy::Priorities::kBLevel;
      Training training(plan,
                        {test::random_problem({.nodes = 20, .devices = 3}, 3),
                         test::random_problem({.nodes = 9, .devices = 3, .constraints = true}, 4)},
                        methods);
      while (!training.done()) training.update();
      EXPECT_EQ(training.state().rollbacks, 0u);
      return training.policy();
    };
    const policy::Policy one = trained(1), three = trained(3);
    EXPECT_EQ(one.parameters, three.parameters);
    EXPECT_EQ(architecture_name(one.architecture), name);
    EXPECT_EQ(one.priorities, policy::Priorities::kBLevel);
    const policy::Policy read = policy::read_policy_json("p", policy::write_policy_json(one));
    EXPECT_EQ(read.architecture, one.architecture);
    EXPECT_EQ(read.shape, one.shape);
    EXPECT_EQ(read.priorities, one.priorities);
    EXPECT_EQ(read.parameters, one.parameters);
  }
}

// The numbers of the paper and its code (docs/learning.md).
TEST(Training, ThePapersPlanHasThePublishedNumbers) {
  const TrainingPlan plan = TrainingPlan::of_paper();
  EXPECT_EQ(plan.architecture, policy::Architecture::kPublished);
  EXPECT_EQ(plan.shape.width, 128u);
  EXPECT_EQ(plan.shape.rounds, 6u);
  EXPECT_EQ(plan.shape.prior, policy::Prior::kNone);
  EXPECT_EQ(plan.imitation_episodes, 2000u);
  EXPECT_EQ(plan.episodes, 2000u);
  EXPECT_EQ(plan.teacher, "critical-path-start");
  EXPECT_EQ(plan.learner.recipe, Recipe::kPaper);
  EXPECT_EQ(plan.learner.batch, 1u);
  EXPECT_EQ(plan.learner.entropy, 1e-2);
  EXPECT_EQ(plan.learner.self_imitation, 0.0);
  EXPECT_EQ(plan.imitation_rates->at(0.0), 1e-3);
  EXPECT_EQ(plan.imitation_rates->at(1.0), 1e-3);
  EXPECT_EQ(plan.rates->at(0.0), 1e-4);
  EXPECT_NEAR(plan.rates->at(1.0), 1e-7, 1e-12);
  EXPECT_EQ(plan.exploration, 0.2);
}

TrainingPlan small_plan_of_paper(int threads) {
  TrainingPlan plan = TrainingPlan::of_paper();
  plan.shape = {.width = 8, .rounds = 1};
  plan.imitation_episodes = 8;
  plan.episodes = 60;
  plan.learner.threads = threads;
  return plan;
}

void expect_to_go_on(TrainingPlan (*plan)(int)) {
  const place::Registry methods = place::classical_methods();
  Training whole(plan(1), problems(), methods);
  while (!whole.done()) whole.update();
  for (const int cut : {1, 7, 8, 30}) {  // in and between the stages
    Training first(plan(1), problems(), methods);
    for (int i = 0; i < cut; ++i) first.update();
    const std::string text = write_checkpoint_json(first.state());
    Training second(plan(2), problems(), methods);
    second.restore(read_checkpoint_json("c.json", text));
    while (!second.done()) second.update();
    EXPECT_EQ(second.policy().parameters, whole.policy().parameters) << cut;
    EXPECT_EQ(write_checkpoint_json(second.state()), write_checkpoint_json(whole.state())) << cut;
  }
}

TEST(Training, GoesOnFromACheckpointAsIfNothingHadHappened) {
  expect_to_go_on(small_plan);
}

TEST(Training, GoesOnFromACheckpointByThePapersRecipeToo) {
  expect_to_go_on(small_plan_of_paper);
}

// Every episode that a teacher gives counts once: a batch of them in an update, or three if the
// teacher searches.
TEST(Training, CountsWhatATeacherGives) {
  const place::Registry methods = place::classical_methods();
  const auto counts = [&](const char* teacher) {
    TrainingPlan plan = small_plan(1);
    plan.teacher = teacher;
    plan.learner.batch = 16;
    plan.imitation_episodes = 48;
    plan.episodes = 32;
    Training training(plan, {test::random_problem(9, 5)}, methods);
    std::vector<std::uint64_t> episodes;
    while (!training.done()) episodes.push_back(training.update().episodes);
    EXPECT_EQ(training.episodes(), training.total_episodes());
    return episodes;
  };
  EXPECT_THAT(counts("critical-path"), testing::ElementsAre(16, 32, 48, 64, 80));
  const std::vector<std::uint64_t> searched = counts("lns");
  ASSERT_EQ(searched.size(), 18u);
  EXPECT_EQ(searched.front(), 3u);
  EXPECT_EQ(searched.back(), 80u);
}

// Sixteen equal nodes between a fork and a join: all have the same features and neighbours. Half of
// them on each of two devices take 8, all on one 16; a random placement takes about 10.
TEST(Training, GdpAndPlacetoLearnToSpreadEqualNodes) {
  std::vector<test::TestNode> nodes = {{"fork", 0.1}, {"join", 0.1}};
  std::vector<test::TestEdge> edges;
  for (int i = 0; i < 16; ++i) {
    const std::string name = "n" + std::to_string(i);
    nodes.push_back({name, 1.0});
    edges.push_back({"fork", name});
    edges.push_back({name, "join"});
  }
  const auto problem =
      test::uniform_problem(test::simple_graph(nodes, edges, 0.01), 2, cost::LinkMode::kFree);
  const place::Registry methods = place::classical_methods();
  for (const auto architecture : {policy::Architecture::kGdp, policy::Architecture::kPlaceto}) {
    SCOPED_TRACE(policy::architecture_name(architecture));
    TrainingPlan plan = small_plan(1);
    plan.architecture = architecture;
    plan.shape.width = 32;
    plan.imitation_episodes = 0;
    plan.episodes = 8000;
    plan.learner.batch = 16;
    Training training(plan, {problem}, methods);
    double first = 0.0, last = 0.0;
    while (!training.done()) {
      const UpdateReport report = training.update();
      if (report.update <= 10) first += report.batch.mean / 10.0;
      if (report.update > 490) last += report.batch.mean / 10.0;
    }
    EXPECT_LT(last, 0.9 * first);
    EXPECT_LT(last, 9.0);
  }
}

TEST(Training, RefusesThePapersRecipeForModelsWithoutEntropy) {
  TrainingPlan plan = small_plan_of_paper(1);
  plan.architecture = policy::Architecture::kJoint;
  EXPECT_THAT(test::error_of<ParameterError>(
                  [&] { Training(plan, problems(), place::classical_methods()); }),
              testing::HasSubstr("the paper's recipe is for"));
  plan = small_plan(1);
  plan.architecture = policy::Architecture::kJoint;
  plan.learner.entropy = 0.1;
  EXPECT_EQ(test::error_of<ParameterError>(
                [&] { Training(plan, problems(), place::classical_methods()); }),
            "model joint takes no entropy");
}

TEST(Training, GivesAModelTheEntropyThatItNeedsUnlessThePlanHasSome) {
  const auto entropy_of = [](policy::Architecture architecture, double given) {
    TrainingPlan plan = small_plan(1);
    plan.architecture = architecture;
    plan.learner.entropy = given;
    // Placeto is for one number of devices, so that one problem has to do.
    return Training(plan, {problems().front()}, place::classical_methods()).plan().learner.entropy;
  };
  EXPECT_EQ(entropy_of(policy::Architecture::kDual, 0.0), 0.0);
  EXPECT_EQ(entropy_of(policy::Architecture::kPlaceto, 0.0),
            entropy_for(policy::Architecture::kPlaceto));
  EXPECT_EQ(entropy_of(policy::Architecture::kPlaceto, 0.3), 0.3);
}

TEST(Training, RefusesStatesOfOtherTrainingsAndDamagedOnes) {
  const place::Registry methods = place::classical_methods();
  Training training(small_plan(1), problems(), methods);
  training.update();
  std::string text = write_checkpoint_json(training.state());
  TrainingPlan other = small_plan(1);
  other.rates = Rates{1e-3, 1e-4};
  Training another(other, problems(), methods);
  EXPECT_THAT(test::error_of<InputError>([&] { another.restore(read_checkpoint_json("c", text)); }),
              testing::HasSubstr("other settings"));
  other = small_plan(1);
  other.architecture = policy::Architecture::kPlcOnly;
  Training modelled(other, problems(), methods);
  EXPECT_THAT(
      test::error_of<InputError>([&] { modelled.restore(read_checkpoint_json("c", text)); }),
      testing::HasSubstr("other settings"));
  Training elsewhere(small_plan(1), {test::random_problem(20, 9)}, methods);
  EXPECT_THAT(
      test::error_of<InputError>([&] { elsewhere.restore(read_checkpoint_json("c", text)); }),
      testing::HasSubstr("other graphs"));
  const std::size_t at = text.find("\"parameters\": \"") + 20;
  text[at] = text[at] == 'A' ? 'B' : 'A';
  EXPECT_THAT(test::error_of<InputError>([&] { read_checkpoint_json("c.json", text); }),
              testing::HasSubstr("damaged"));
}

// The checksum is no secret: whoever forges a checkpoint writes the right one.
TEST(Training, RefusesForgedStates) {
  const place::Registry methods = place::classical_methods();
  Training training(small_plan(1), problems(), methods);
  for (int i = 0; i < 20; ++i) training.update();
  const TrainingState sound = training.state();
  ASSERT_TRUE(std::isfinite(sound.best_times.at(0)));
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::pair<const char*, void (*)(TrainingState&)> forgeries[] = {
      {"device", [](auto& s) { s.best_episodes[0].device[0] = DeviceId(4); }},
      {"no device", [](auto& s) { s.best_episodes[0].device.pop_back(); }},
      {"node", [](auto& s) { s.best_episodes[0].order[0] = NodeId(20); }},
      {"node twice", [](auto& s) { s.best_episodes[0].order[0] = s.best_episodes[0].order[1]; }},
      {"no node", [](auto& s) { s.best_episodes[0].order.pop_back(); }},
      {"order",
       [](auto& s) {
         std::reverse(s.best_episodes[0].order.begin(), s.best_episodes[0].order.end());
       }},
      {"time", [](auto& s) { s.best_times[0] = -1.0; }},
      {"no time", [](auto& s) { s.best_times[0] = kNan; }},
      {"best without time", [](auto& s) { s.best_times[0] = cost::kInfinity; }},
      {"mean", [](auto& s) { s.mean_times[0].seconds = kNan; }},
      {"parameter", [](auto& s) { s.parameters[0] = 1e10f; }},
      {"no parameter", [](auto& s) { s.parameters[0] = std::nanf(""); }},
      {"moment", [](auto& s) { s.optimiser.square[0] = -1.0f; }},
      {"moments", [](auto& s) { s.optimiser.mean.pop_back(); }},
      {"steps", [](auto& s) { s.optimiser.steps = UINT64_MAX; }},
      {"updates", [](auto& s) { s.updates = 1'000'000; }},
      {"rollbacks", [](auto& s) { s.rollbacks = UINT64_MAX; }},
      {"level", [](auto& s) { s.watch.level = kNan; }},
      {"good level", [](auto& s) { s.watch.good_level = -cost::kInfinity; }},
      {"good state", [](auto& s) { s.watch.good_level = 0.0, s.watch.parameters = {1.0f}; }},
      {"batches", [](auto& s) { s.watch.batches = UINT64_MAX; }},
      {"returns", [](auto& s) { s.watch.returns = UINT64_MAX; }},
  };
  for (const auto& [what, forge] : forgeries) {
    TrainingState state = sound;
    forge(state);
    Training fresh(small_plan(1), problems(), methods);
    EXPECT_THROW(fresh.restore(read_checkpoint_json("c", write_checkpoint_json(state))), InputError)
        << what;
    // Nothing of it was taken over.
    EXPECT_EQ(fresh.updates(), 0u) << what;
  }
}

// Where the best time is 0, no batch can be told to be so many times slower.
TEST(Training, GoesOnWhereNothingTakesTime) {
  const place::Registry methods = place::classical_methods();
  const Problems nothing = {test::uniform_problem(
      test::simple_graph({{"a", 0.0}, {"b", 0.0}, {"c", 0.0}}, {{"a", "b"}, {"a", "c"}}, 1.0), 2,
      cost::LinkMode::kChannel)};
  Training training(small_plan(1), nothing, methods);
  while (!training.done()) training.update();
  EXPECT_EQ(training.task(0).best_time(), 0.0);
  Training resumed(small_plan(1), nothing, methods);
  EXPECT_NO_THROW(
      resumed.restore(read_checkpoint_json("c", write_checkpoint_json(training.state()))));
}

// A chain has no use for a second device: every policy that learns at all finds that out.
TEST(Training, LearnsToLeaveAChainOnOneDevice) {
  std::vector<test::TestNode> nodes;
  std::vector<test::TestEdge> edges;
  for (int i = 0; i < 12; ++i) {
    nodes.push_back({std::to_string(i), 1.0});
    if (i > 0) edges.push_back({std::to_string(i - 1), std::to_string(i)});
  }
  const auto problem =
      test::uniform_problem(test::simple_graph(nodes, edges, 2.0), 4, cost::LinkMode::kFree);
  const place::Registry methods = place::classical_methods();
  TrainingPlan plan{.shape = {.width = 16, .rounds = 1, .prior = policy::Prior::kNone},
                    .episodes = 3200};
  plan.learner.self_imitation = 0.0;
  Training training(plan, {problem}, methods);
  UpdateReport last;
  const UpdateReport first = training.update();
  while (!training.done()) last = training.update();
  EXPECT_GT(first.batch.mean, 25.0);  // most hops cost 2 on top of 12
  EXPECT_LT(last.batch.mean, 14.0);

  // Who knows that an early end is good needs to learn less.
  plan.shape.prior = policy::Prior::kList;
  EXPECT_LT(Training(plan, {problem}, methods).update().batch.mean, 20.0);
}

}  // namespace
}  // namespace doppler::train
