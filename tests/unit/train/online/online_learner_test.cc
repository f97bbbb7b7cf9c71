#include "doppler/train/online/online_learner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <set>
#include <thread>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/hash.h"
#include "doppler/base/rng.h"
#include "doppler/device/spec.h"
#include "doppler/exec/machine.h"
#include "doppler/graph/generate/random.h"
#include "doppler/place/registry.h"
#include "doppler/sim/simulator.h"
#include "doppler/train/online/service.h"
#include "doppler/train/placers/policy_placer.h"
#include "lab/online_learning.h"
#include "support/errors.h"

namespace doppler::train {
namespace {

std::shared_ptr<const cost::Problem> problem(std::size_t nodes = 60) {
  return std::make_shared<const cost::Problem>(
      std::make_shared<const graph::Graph>(
          graph::generate_random({.family = graph::Family::kLayered, .nodes = nodes, .seed = 3})),
      std::make_shared<const device::Topology>(device::topology_from_spec("4xP100")));
}

schedule::Placement start_of(const cost::Problem& p) {
  return place::methods_with({}).find("heft").place(p, {}).placement;
}

// Quick: few simulated runs and updates.
OnlineSettings quick(double explore = 0.1) {
  return {.explore = explore, .evaluations = 300, .updates = 2};
}

// Serves and checks after every run what must always hold.
class Checked {
 public:
  Checked(std::shared_ptr<const cost::Problem> p, schedule::Placement start,
          OnlineSettings settings)
      : problem_(p),
        settings_(settings),
        learner(p, std::move(start), *shipped_policy(), settings) {}

  void run(schedule::Measurer& machine, std::uint64_t runs) {
    for (std::uint64_t i = 0; i < runs; ++i) {
      const auto incumbent = learner.incumbent();
      // By the simulator as the runs so far have calibrated it.
      const auto calibrated = learner.calibrated();
      const NextRun next = learner.next();
      EXPECT_EQ(next.number, run_++);
      explored_ += next.exploratory;
      EXPECT_LE(static_cast<double>(explored_),
                settings_.explore * static_cast<double>(run_) + 1e-9);
      if (next.exploratory) {
        EXPECT_FALSE(last_exploratory_);  // in turn with the incumbent
        sim::Simulator simulator(*calibrated);
        EXPECT_LE(simulator.makespan(*next.placement, cost::kInfinity),
                  (1.0 + settings_.max_slowdown) * simulator.makespan(*incumbent, cost::kInfinity) *
                      (1.0 + 1e-12));
      } else {
        EXPECT_EQ(*next.placement, *incumbent);
      }
      last_exploratory_ = next.exploratory;
      const schedule::Timeline timeline = machine.measure(*next.placement, next.number);
      learner.report(timeline.makespan, &timeline);
      learner.work();
    }
  }

 private:
  std::shared_ptr<const cost::Problem> problem_;
  OnlineSettings settings_;
  std::uint64_t run_ = 0, explored_ = 0;
  bool last_exploratory_ = false;

 public:
  OnlineLearner learner;
};

exec::MachineSkew hidden(const cost::Problem& p) {
  return lab::draw_skew(p, {}, 5);
}

TEST(OnlineLearner, KeepsItsPromisesAndFindsBetter) {
  const auto p = problem();
  Checked service(p, start_of(*p), quick());
  exec::VirtualMachine machine(p, hidden(*p), 1);
  service.run(machine, 600);
  const OnlineSummary summary = service.learner.summary();
  EXPECT_EQ(summary.runs, 600u);
  EXPECT_LE(summary.explored, 60u);
  EXPECT_GT(summary.explored, 40u);
  ASSERT_FALSE(summary.promotions.empty());
  EXPECT_GT(summary.improvement, 0.0);
  EXPECT_LT(summary.improvement_low, summary.improvement);
  EXPECT_LT(summary.improvement, summary.improvement_high);
  const double before = lab::true_mean(p, hidden(*p), start_of(*p), 100);
  const double after = lab::true_mean(p, hidden(*p), *service.learner.incumbent(), 100);
  EXPECT_LT(after, before);
}

// 200 runs at a share of 0.01, 0.1 and 0.25 allow 2, 20 and 50 that explore. Nothing is tried in
// the first ten, but what is not used may be used later: as long as candidates come, one run in two
// can explore, so that all of it is used by the end. At 0.5 there is nothing to catch up with: the
// 190 runs after the first ten hold 95 pairs with the incumbent, of which some pass while there is
// no candidate; 76 are four fifths of them.
TEST(OnlineLearner, ExploresAboutAsMuchAsItMay) {
  struct Budget {
    double explore;
    std::uint64_t least, most;
  };
  const auto p = problem(30);
  for (const Budget& budget :
       {Budget{0.0, 0, 0}, {0.01, 2, 2}, {0.1, 20, 20}, {0.25, 50, 50}, {0.5, 60, 95}}) {
    SCOPED_TRACE(budget.explore);
    Checked service(p, start_of(*p), quick(budget.explore));
    exec::VirtualMachine machine(p, hidden(*p), 1);
    service.run(machine, 200);
    EXPECT_GE(service.learner.summary().explored, budget.least);
    EXPECT_LE(service.learner.summary().explored, budget.most);
  }
}

// Runs that take a hundred times as long, devices that are slow for a run, a machine that pauses:
// the incumbent stays, since nothing else is truly better.
class Straggling final : public schedule::Measurer {
 public:
  explicit Straggling(std::shared_ptr<const cost::Problem> p)
      : problem_(p), machine_(p, {.jitter = 0.02}, 1) {}
  schedule::Timeline measure(const schedule::Placement& placement, std::uint64_t run) override {
    schedule::Timeline timeline = machine_.measure(placement, run);
    Rng rng = Rng::stream(9, run);
    const bool pause = rng.chance(0.05), straggler = rng.chance(0.1);
    const DeviceId slow(rng.below(4));
    if (pause) timeline.makespan *= 100.0;
    if (straggler) timeline.makespan *= 2.0;
    for (std::size_t v = 0; v < timeline.nodes.size(); ++v) {
      schedule::NodeRun& node = timeline.nodes[v];
      const double time = node.end - node.start;
      if (pause || (straggler && timeline.device[v] == slow)) {
        node.end = node.start + time * (pause ? 100.0 : 5.0);
      }
    }
    return timeline;
  }

 private:
  std::shared_ptr<const cost::Problem> problem_;
  exec::VirtualMachine machine_;
};

TEST(OnlineLearner, IsNotMisledByStragglers) {
  const auto p = problem();
  // As good as search finds: what takes over is rarely better, and must not be worse.
  const schedule::Placement start =
      place::methods_with({}).find("lns").place(*p, {.max_evaluations = 20'000}).placement;
  Checked service(p, start, quick());
  Straggling machine(p);
  service.run(machine, 800);
  const exec::MachineSkew truth{.jitter = 0.02};
  EXPECT_LT(lab::true_mean(p, truth, *service.learner.incumbent(), 100),
            1.01 * lab::true_mean(p, truth, start, 100));
  EXPECT_EQ(service.learner.summary().changes, 0u);
}

TEST(OnlineLearner, MovesWorkAwayFromADeviceThatSlowsDown) {
  const auto p = problem();
  Checked service(p, start_of(*p), quick());
  exec::VirtualMachine machine(p, {.jitter = 0.05}, 1);
  service.run(machine, 300);
  const schedule::Placement before = *service.learner.incumbent();
  exec::MachineSkew slow{.jitter = 0.05};
  slow.device_factors["gpu1"] = 2.0;
  exec::VirtualMachine slow_machine(p, slow, 1);
  const std::uint64_t explored = service.learner.summary().explored;
  service.run(slow_machine, 500);
  EXPECT_LE(service.learner.summary().explored - explored, 51u);
  const auto work_on = [&](const schedule::Placement& placement) {
    double time = 0.0;
    for (std::size_t v = 0; v < p->node_count(); ++v) {
      if (placement.device[v] == DeviceId(1)) {
        time += p->compute_time(NodeId::of(v), DeviceId(1));
      }
    }
    return time;
  };
  EXPECT_LT(work_on(*service.learner.incumbent()), 0.8 * work_on(before));
  EXPECT_GE(service.learner.summary().changes, 1u);
  EXPECT_LT(lab::true_mean(p, slow, *service.learner.incumbent(), 50),
            0.95 * lab::true_mean(p, slow, before, 50));
}

// A machine that others use, too: for some runs everything takes half as long again, then not.
class Pulsing final : public schedule::Measurer {
 public:
  explicit Pulsing(std::shared_ptr<const cost::Problem> p) : machine_(p, hidden(*p), 1) {}
  schedule::Timeline measure(const schedule::Placement& placement, std::uint64_t run) override {
    schedule::Timeline timeline = machine_.measure(placement, run);
    const double factor = run / 12 % 2 == 0 ? 1.0 : 1.5;
    timeline.makespan *= factor;
    for (auto& node : timeline.nodes) node = {node.start * factor, node.end * factor};
    for (auto& transfer : timeline.transfers) {
      transfer.start *= factor;
      transfer.end *= factor;
    }
    return timeline;
  }

 private:
  exec::VirtualMachine machine_;
};

TEST(OnlineLearner, FindsBetterOnAMachineThatNeverStaysTheSame) {
  const auto p = problem();
  Checked service(p, start_of(*p), quick());
  Pulsing machine(p);
  service.run(machine, 600);
  const OnlineSummary summary = service.learner.summary();
  EXPECT_GT(summary.changes, 20u);
  ASSERT_FALSE(summary.promotions.empty());
  EXPECT_LT(lab::true_mean(p, hidden(*p), *service.learner.incumbent(), 100),
            lab::true_mean(p, hidden(*p), start_of(*p), 100));
}

TEST(OnlineLearner, GoesOnAfterACheckpointAsIfNothingHadHappened) {
  const auto p = problem(40);
  exec::VirtualMachine machine(p, hidden(*p), 1);
  const auto serve = [&](OnlineLearner& learner, std::uint64_t runs) {
    train::serve(learner, machine, {.runs = runs, .beside = false});
  };
  OnlineLearner whole(p, start_of(*p), *shipped_policy(), quick());
  serve(whole, 300);
  for (const std::uint64_t kill : {1u, 57u, 110u, 111u, 112u, 203u}) {
    SCOPED_TRACE(kill);
    OnlineLearner killed(p, start_of(*p), *shipped_policy(), quick());
    serve(killed, kill);
    OnlineLearner resumed(p, start_of(*p), *shipped_policy(), quick());
    resumed.restore("state", killed.state_json());
    EXPECT_EQ(resumed.state_json(), killed.state_json());
    serve(resumed, 300);
    EXPECT_EQ(resumed.state_json(), whole.state_json());
  }
}

TEST(OnlineLearner, RefusesStatesOfOthersAndDamagedOnes) {
  const auto p = problem(40);
  exec::VirtualMachine machine(p, hidden(*p), 1);
  OnlineLearner learner(p, start_of(*p), *shipped_policy(), quick());
  train::serve(learner, machine, {.runs = 60, .beside = false});
  const std::string state = learner.state_json();
  OnlineSettings other = quick();
  other.max_slowdown = 0.2;
  OnlineLearner cautious(p, start_of(*p), *shipped_policy(), other);
  EXPECT_THROW(cautious.restore("s", state), InputError);
  OnlineLearner elsewhere(problem(41), start_of(*problem(41)), *shipped_policy(), quick());
  EXPECT_THROW(elsewhere.restore("s", state), InputError);
  OnlineLearner without(p, start_of(*p), std::nullopt, quick());
  EXPECT_THROW(without.restore("s", state), InputError);
  // A file that lacks nothing but its last line's end is whole.
  for (std::size_t cut = 0; cut + 1 < state.size(); cut += state.size() / 37) {
    EXPECT_THROW(learner.restore("s", state.substr(0, cut)), InputError) << cut;
  }
  EXPECT_EQ(learner.state_json(), state);  // a refusal changes nothing
}

// Writes another number in the place of that of a key, and the checksum that belongs to it.
std::string forged(const std::string& state, const std::string& key, const std::string& value) {
  const std::size_t begin = state.find("\"" + key + "\": ") + key.size() + 4;
  std::string text = state.substr(0, begin) + value + state.substr(state.find(',', begin));
  const std::string sum = "\"checksum\": ";
  text.resize(text.rfind(sum) + sum.size());
  Hasher hasher;
  hasher.add_bytes(text);
  return text + "\"" + hash_to_string(hasher.value()) + "\"\n}\n";
}

TEST(OnlineLearner, RefusesForgedStates) {
  const auto p = problem(40);
  exec::VirtualMachine machine(p, hidden(*p), 1);
  OnlineLearner learner(p, start_of(*p), *shipped_policy(), quick());
  train::serve(learner, machine, {.runs = 60, .beside = false});
  const std::string state = learner.state_json();
  EXPECT_NO_THROW(learner.restore("s", forged(state, "runs", "60")));
  // With the checksum of before.
  std::string changed = state;
  const std::size_t digit = changed.find("\"runs\": ") + 8;
  changed[digit] = changed[digit] == '6' ? '7' : '6';
  EXPECT_THAT(test::error_of([&] { learner.restore("s", changed); }),
              testing::HasSubstr("checksum"));
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"runs", "3"},
           {"runs", "-1"},
           {"runs", "18446744073709551615"},
           {"explored", "61"},
           {"noise", "\"AAAAAAAA8H8AAAAAAADwfwAAAAAAAPB/\""},
           {"sums", "\"\""},
           {"unpaired", "\"AAAAAAAAAAA=\""},  // a run that took 0
           {"calibration", "\"AAAAAAAA8D8=\""},
           {"calibration", "\"\""},
           {"optimiser_steps", "\"\""}}) {
    EXPECT_THROW(learner.restore("s", forged(state, key, value)), InputError) << key << value;
  }
  EXPECT_EQ(learner.state_json(), state);  // a refusal changes nothing
}

TEST(OnlineLearner, RefusesWhatMakesNoSense) {
  const auto p = problem(20);
  EXPECT_THROW(OnlineLearner(p, start_of(*p), std::nullopt, quick(0.6)), ParameterError);
  EXPECT_THROW(OnlineLearner(p, start_of(*p), std::nullopt, quick(std::nan(""))), ParameterError);
  EXPECT_THROW(OnlineLearner(p, start_of(*p), std::nullopt, {.max_slowdown = -0.1}),
               ParameterError);
  EXPECT_THROW(OnlineLearner(p, {}, std::nullopt, {}), ParameterError);
  OnlineLearner learner(p, start_of(*p), std::nullopt, {});
  learner.next();
  EXPECT_THROW(learner.report(0.0), ParameterError);
  EXPECT_THROW(learner.report(cost::kInfinity), ParameterError);
  learner.report(1.0);
}

// Without timelines nothing is calibrated, but races go on; a candidate that fails is dropped.
TEST(OnlineLearner, TakesTimesAloneAndFailures) {
  const auto p = problem(30);
  OnlineLearner learner(p, start_of(*p), std::nullopt, quick(0.5));
  exec::VirtualMachine machine(p, {}, 1);
  std::uint64_t failures = 0;
  for (int i = 0; i < 100; ++i) {
    const NextRun next = learner.next();
    if (next.exploratory && failures < 3) {
      ++failures;
      learner.report_failure();
    } else {
      learner.report(machine.measure(*next.placement, next.number).makespan);
    }
    learner.work();
  }
  EXPECT_EQ(failures, 3u);
  EXPECT_GE(learner.summary().candidates, 4u);
  EXPECT_EQ(learner.summary().runs, 100u);
}

// What was asked to stop is done anew: the same bits as if it had not been asked.
TEST(OnlineLearner, InterruptedWorkLeavesNothingBehind) {
  const auto p = problem(40);
  const auto serve = [&](bool interrupted) {
    OnlineLearner learner(p, start_of(*p), *shipped_policy(), quick());
    exec::VirtualMachine machine(p, hidden(*p), 1);
    int interruptions = 0;
    for (int i = 0; i < 300; ++i) {
      const NextRun next = learner.next();
      const schedule::Timeline timeline = machine.measure(*next.placement, next.number);
      learner.report(timeline.makespan, &timeline);
      // At any moment, whatever the clock does: before the first step or after some.
      const double seconds = 1e-3 * (i % 7);
      if (interrupted && learner.work(StopToken::after_seconds(seconds)) != Work::kInterrupted) {
        continue;
      }
      interruptions += interrupted;
      learner.work();
    }
    EXPECT_EQ(interruptions > 0, interrupted);
    return learner.state_json();
  };
  EXPECT_EQ(serve(true), serve(false));
}

// One thread serves, another works: nothing is waited for, and promises hold.
TEST(OnlineLearner, WorksBesideTheRuns) {
  const auto p = problem(40);
  OnlineLearner learner(p, start_of(*p), *shipped_policy(), quick());
  exec::VirtualMachine machine(p, hidden(*p), 1);
  train::serve(learner, machine, {.runs = 3000, .beside = true});
  EXPECT_EQ(learner.summary().runs, 3000u);
  EXPECT_LE(learner.summary().explored, 300u);
}

}  // namespace
}  // namespace doppler::train
