// A training from start to end: stages, rates, which problem is next. Its state can be saved after
// any update and taken up again; the rest then gives the same bits as if nothing had happened.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/place/registry.h"
#include "doppler/policy/policy.h"
#include "doppler/train/offline/learner.h"

namespace doppler::train {

// Linear in between.
struct Rates {
  double first = 4e-3, last = 4e-4;

  double at(double progress) const { return first + (last - first) * progress; }
};

struct TrainingPlan {
  policy::Architecture architecture = policy::Architecture::kDual;
  // Models for one number of devices take that of the problems where the shape has none.
  policy::NetworkShape shape = {};
  policy::Priorities priorities = policy::Priorities::kOrder;
  std::uint64_t imitation_episodes = 0;  // stage I, over all problems
  std::uint64_t episodes = 20'000;       // stage II, likewise
  std::string teacher = "critical-path";
  schedule::Objective objective = schedule::Objective::kNominal;
  std::uint64_t seed = 1;
  LearnerSettings learner = {};
  Rates imitation_rates = {}, rates = {};  // of learning, in the two stages
  double exploration = 0.0;  // to begin with, none in the end; only for Recipe::kPaper

  // What the paper used: networks, stages, rates.
  static TrainingPlan of_paper();

  // Of everything that decides the result; not the number of threads.
  std::uint64_t hash() const;
};

enum class Stage : std::uint8_t { kImitation, kSimulation };
std::string_view stage_name(Stage stage);

struct UpdateReport {
  std::uint64_t update = 0;    // counted from 1
  std::uint64_t episodes = 0;  // so far
  Stage stage = Stage::kSimulation;
  std::size_t task = 0;
  double rate = 0.0;
  BatchReport batch = {};
  double best_time = 0.0;  // of the task so far
  // The update gave numbers that are not finite and was undone, or training had diverged and went
  // back to the last good state.
  bool rolled_back = false;
};

// What is left to know after any update.
struct TrainingState {
  std::uint64_t plan_hash = 0, problems_hash = 0;
  std::uint64_t updates = 0, rollbacks = 0;
  std::vector<float> parameters = {};
  nn::AdamState optimiser = {};
  DivergenceWatch::State watch = {};
  std::vector<double> best_times = {};              // by task; infinite: none yet
  std::vector<policy::Episode> best_episodes = {};  // by task
  std::vector<MeanTime> mean_times = {};            // by task
};

class Training {
 public:
  // `start`: parameters to begin with; empty: random ones from the seed. Throws ParameterError for
  // numbers that make no sense, and for problems with different numbers of devices where the model
  // is for one.
  Training(TrainingPlan plan, std::vector<std::shared_ptr<const cost::Problem>> problems,
           const place::Registry& teachers, std::vector<float> start = {});

  bool done() const { return updates_ == total_updates(); }
  std::uint64_t updates() const { return updates_; }  // so far
  std::uint64_t total_updates() const { return imitation_updates_ + simulation_updates_; }
  std::uint64_t total_episodes() const { return total_updates() * plan_.learner.batch; }
  // REQUIRES: !done().
  UpdateReport update();

  TrainingState state() const;
  // Throws InputError where the state is of another plan or other problems.
  void restore(TrainingState state);

  policy::Policy policy() const;
  std::size_t task_count() const { return tasks_.size(); }
  const Task& task(std::size_t i) const { return *tasks_[i]; }

 private:
  std::size_t task_of(std::uint64_t update) const;
  const std::vector<policy::Episode>& lessons_for(std::size_t task);
  std::uint64_t problems_hash() const;

  TrainingPlan plan_;
  const place::Registry& teachers_;
  std::unique_ptr<const policy::Model> model_;
  std::vector<std::unique_ptr<Task>> tasks_;
  // By task, made when first asked for; none where the teacher found nothing that fits.
  std::vector<std::optional<std::vector<policy::Episode>>> lessons_;
  Learner learner_;
  DivergenceWatch watch_;
  policy::Domain domain_;
  std::uint64_t imitation_updates_ = 0, simulation_updates_ = 0;
  std::uint64_t updates_ = 0, rollbacks_ = 0;
};

}  // namespace doppler::train
