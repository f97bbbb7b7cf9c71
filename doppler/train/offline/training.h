// A training of stages I and II, or of stage III as published, from start to end: which stage,
// which learning rate and which problem is next. Its state can be saved after any update and
// restored later; what follows then gives the same bits as if the training had never been
// interrupted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/place/registry.h"
#include "doppler/policy/policy.h"
#include "doppler/schedule/measurer.h"
#include "doppler/train/offline/learner.h"

namespace doppler::train {

// The learning rates at the beginning and at the end of a stage, and linearly in between.
struct Rates {
  double first = 4e-3, last = 4e-4;

  // Returns the rate where `progress` goes from 0 to 1.
  double at(double progress) const { return first + (last - first) * progress; }
};

// Returns the rates that suit a model. They are higher for Placeto, whose scores pass through means
// over many nodes, which a small step hardly moves.
Rates rates_for(policy::Architecture architecture);
// Returns the weight of the entropy for a model whose plan has none. Placeto needs a little, as in
// its own training: its first updates can make it nearly sure of one device for every node. The
// entropy leads out of there in most trainings, but not in all: once every episode of a batch is
// the same, there is nothing to learn from.
double entropy_for(policy::Architecture architecture);

// Says what is trained and how.
struct TrainingPlan {
  policy::Architecture architecture = policy::Architecture::kDual;
  // If a model needs a number of devices and this has none, it takes that of the problems.
  policy::NetworkShape shape = {};
  policy::Priorities priorities = policy::Priorities::kOrder;
  std::uint64_t imitation_episodes = 0;   // of stage I, over all problems
  std::uint64_t episodes = 20'000;        // of stage II, over all problems
  std::string teacher = "critical-path";  // the placement method that stage I imitates
  schedule::Objective objective = schedule::Objective::kNominal;
  std::uint64_t seed = 1;
  LearnerSettings learner = {};
  // Stage II learns with `rates`; if they are absent, with those that suit the model, rates_for().
  // Stage I learns with `imitation_rates`; if they are absent, with those of stage II.
  std::optional<Rates> rates = std::nullopt, imitation_rates = std::nullopt;
  // The share of random choices at the beginning of stage II, which falls to 0 at its end. Only for
  // Recipe::kPaper.
  double exploration = 0.0;
  // Makes stage II stage III as published: its episodes run on an engine, see
  // Training::measure_with().
  bool measured = false;

  // Returns what the paper used: its networks, stages, rates and teacher.
  static TrainingPlan of_paper();
  // Returns the plan of stage III as published that goes on from this one, with so many runs.
  TrainingPlan on_runs(std::uint64_t runs) const;

  // Returns a hash of everything that decides the result, which the number of threads does not.
  std::uint64_t hash() const;
};

// Returns the makespan of one run, or infinity for a placement that does not fit on the machine:
// what Training::measure_with() needs. Throws as Measurer::measure() does otherwise.
double makespan_or_infinity(schedule::Measurer& machine, const schedule::Placement& placement,
                            std::uint64_t run);

// The stages of a training: imitation of a teacher (I), episodes in the simulator (II), and runs on
// an engine (III, train/session/session.h).
enum class Stage : std::uint8_t { kImitation, kSimulation, kReal };
// Returns "imitation", "sim" or "real".
std::string_view stage_name(Stage stage);

// Tells what one update did.
struct UpdateReport {
  std::uint64_t update = 0;          // counted from 1
  std::uint64_t episodes = 0;        // in all updates so far
  std::uint64_t batch_episodes = 0;  // in this update
  Stage stage = Stage::kSimulation;
  std::size_t task = 0;  // index of the problem
  double rate = 0.0;     // of learning
  BatchReport batch = {};
  double best_time = 0.0;  // of the task so far; infinite if no episode fitted into memory
  // Set if no step was made because the gradient was not finite, or if the training had diverged
  // and went back to the last good state.
  bool rolled_back = false;
};

// All that a training needs to continue after any update.
struct TrainingState {
  std::uint64_t plan_hash = 0, problems_hash = 0;
  std::uint64_t updates = 0, rollbacks = 0;
  std::vector<float> parameters = {};
  nn::AdamState optimiser = {};
  DivergenceWatch::State watch = {};
  std::vector<double> best_times = {};              // by task; infinite if there is none yet
  std::vector<policy::Episode> best_episodes = {};  // by task
  std::vector<MeanTime> mean_times = {};            // by task
};

// Not thread safe; an update uses the threads of the plan's learner.
class Training {
 public:
  // `start` has the parameters to begin with; if it is empty they are random numbers from the seed.
  // `teachers` must outlive this object. Throws ParameterError for settings that make no sense, for
  // a start of another network, and for problems with different numbers of devices if the model is
  // for one number.
  Training(TrainingPlan plan, std::vector<std::shared_ptr<const cost::Problem>> problems,
           const place::Registry& teachers, std::vector<float> start = {});

  // Takes the time of each episode of a problem from `measure`, which is called once for each and
  // returns infinity for a placement that did not run. REQUIRES: the plan is of a measured
  // training.
  void measure_with(std::size_t task, std::function<double(const schedule::Placement&)> measure);

  // Returns the plan with what its model needs: rates, a weight of the entropy, and perhaps a
  // number of devices.
  const TrainingPlan& plan() const { return plan_; }
  bool done() const { return updates_ == total_updates(); }
  std::uint64_t updates() const { return updates_; }
  std::uint64_t total_updates() const { return imitation_updates_ + simulation_updates_; }
  // Returns the number of episodes of all updates so far, and of the whole training. What a teacher
  // did counts as an episode of stage I.
  std::uint64_t episodes() const { return episodes_after(updates_); }
  std::uint64_t total_episodes() const { return episodes_after(total_updates()); }
  // Learns from one batch of episodes. REQUIRES: !done().
  UpdateReport update();

  TrainingState state() const;
  // Continues from a state. Throws InputError if it is of another plan or of other problems, or has
  // anything that no training can have.
  void restore(TrainingState state);

  // Returns the policy as it is now.
  policy::Policy policy() const;
  std::size_t task_count() const { return tasks_.size(); }
  const Task& task(std::size_t i) const { return *tasks_[i]; }

 private:
  std::uint64_t episodes_after(std::uint64_t updates) const;
  std::size_t task_of(std::uint64_t update) const;
  const std::vector<policy::Episode>& teacher_episodes_for(std::size_t task);
  std::uint64_t problems_hash() const;
  void check_numbers(const TrainingState& state, bool has_good_state) const;

  TrainingPlan plan_;
  const place::Registry& teachers_;
  std::unique_ptr<const policy::Model> model_;
  std::vector<std::unique_ptr<Task>> tasks_;
  // The teacher's episodes by task, made when they are first needed. The list of a task is empty if
  // the teacher found nothing that fits into memory.
  std::vector<std::optional<std::vector<policy::Episode>>> teacher_episodes_;
  Learner learner_;
  DivergenceWatch watch_;
  policy::Domain domain_;
  std::size_t teacher_episodes_count_ = 0;  // that the teacher gives for one problem
  std::uint64_t imitation_batch_ = 1;       // of them in one update
  std::uint64_t imitation_updates_ = 0, simulation_updates_ = 0;
  std::uint64_t updates_ = 0, rollbacks_ = 0;
};

}  // namespace doppler::train
