#include "doppler/train/offline/learner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "doppler/place/feasible.h"
#include "doppler/policy/policy.h"
#include "support/graphs.h"

namespace doppler::train {
namespace {

// d0 makes six tensors of 10 bytes within 6 s; each is read by a node of 10 s on d1 or d2, which
// have 15 bytes. If nodes ran one after the other one tensor at a time would do. As it is tensors
// arrive long before they are read: three and three on d1 and d2 lack 30 bytes, the least possible.
std::shared_ptr<const cost::Problem> overfull_problem() {
  graph::GraphBuilder builder;
  for (int i = 0; i < 6; ++i) {
    const NodeId maker = builder.add_node({.name = fmt::format("make{}", i), .time = 1.0});
    const NodeId reader = builder.add_node({.name = fmt::format("read{}", i), .time = 10.0});
    const TensorId tensor = builder.add_tensor(
        {.name = fmt::format("t{}", i), .producer = maker, .bytes = 10.0, .transfer_time = 0.1});
    builder.connect(tensor, reader);
    builder.constraints().pins.push_back({maker, "d0"});
    builder.constraints().forbids.push_back({reader, "d0"});
  }
  builder.constraints().memory = {{"d1", 15}, {"d2", 15}};  // d0 has no limit
  return test::uniform_problem(std::move(builder).build(), 3, cost::LinkMode::kFree);
}

TEST(Learner, LearnsToNeedLessMemoryWhereNothingFits) {
  const auto problem = overfull_problem();
  const policy::NetworkShape shape{.width = 8, .rounds = 1, .prior = policy::Prior::kNone};
  const auto model = policy::make_model(policy::Architecture::kDual, shape);
  Rng rng(2);
  Task task(problem, *model, schedule::Objective::kNominal, policy::Priorities::kOrder);
  Learner learner(*model, {}, model->parameters().random_values(rng));
  // All on one device, or nearly, before it has learnt.
  const auto greedy_excess = [&] {
    Task fresh(problem, *model, schedule::Objective::kNominal, policy::Priorities::kOrder);
    learner.sample(fresh, 1, 1);
    return place::MemoryFit(*problem).excess_bytes(fresh.placement());
  };
  EXPECT_GT(greedy_excess(), 30.0);
  int lessons = 0;
  for (std::uint64_t update = 1; update <= 100; ++update) {
    const BatchReport report = learner.reinforce(task, update, 4e-3);
    EXPECT_EQ(report.misfits, 16u);
    EXPECT_EQ(report.best, cost::kInfinity);
    EXPECT_TRUE(std::isfinite(report.gradient_length));
    lessons += report.gradient_length > 0.0;
  }
  EXPECT_GT(lessons, 5);  // none where all episodes of a batch lack the same
  EXPECT_EQ(task.best_time(), cost::kInfinity);
  EXPECT_EQ(place::MemoryFit(*problem).excess_bytes(task.placement()), 30.0);
  EXPECT_EQ(greedy_excess(), 30.0);
}

// Steps that are rewarded by themselves count the memory that is missing at each, too.
TEST(Learner, PlacetoLearnsToNeedLessMemoryWhereNothingFits) {
  const auto problem = overfull_problem();
  const auto model =
      policy::make_model(policy::Architecture::kPlaceto, {.width = 8, .rounds = 1, .devices = 3});
  Rng rng(2);
  Task task(problem, *model);
  Learner learner(*model, {}, model->parameters().random_values(rng));
  const auto greedy_excess = [&] {
    Task fresh(problem, *model);
    learner.sample(fresh, 1, 1);
    return place::MemoryFit(*problem).excess_bytes(fresh.placement());
  };
  EXPECT_GT(greedy_excess(), 30.0);
  for (std::uint64_t update = 1; update <= 100; ++update) {
    EXPECT_EQ(learner.reinforce(task, update, 1e-2).misfits, 16u);
  }
  EXPECT_EQ(greedy_excess(), 30.0);
}

TEST(Task, KeepsWhatIsClosestToFittingUntilSomethingFits) {
  const auto problem = overfull_problem();
  const auto model = policy::make_model(policy::Architecture::kDual, {.width = 8, .rounds = 1});
  Task task(problem, *model, schedule::Objective::kNominal, policy::Priorities::kOrder);
  const auto episode = [&](std::uint32_t device) {
    policy::Episode made;
    made.device.assign(problem->node_count(), DeviceId(device));
    made.order.resize(problem->node_count());
    for (std::size_t v = 0; v < made.order.size(); ++v) made.order[v] = NodeId::of(v);
    return made;
  };
  const auto kept = [&] { return task.placement().device.front(); };
  task.offer(episode(0), cost::kInfinity, 20.0);
  EXPECT_EQ(kept(), DeviceId(0));
  task.offer(episode(1), cost::kInfinity, 10.0);
  task.offer(episode(2), cost::kInfinity, 15.0);
  EXPECT_EQ(kept(), DeviceId(1));
  task.offer(episode(2), 5.0, 0.0);
  EXPECT_EQ(kept(), DeviceId(2));
  task.offer(episode(0), cost::kInfinity, 1.0);
  task.offer(episode(0), 6.0, 0.0);
  EXPECT_EQ(kept(), DeviceId(2));
  EXPECT_EQ(task.best_time(), 5.0);
}

}  // namespace
}  // namespace doppler::train
