// Updates of a policy's parameters, one batch of episodes after another, from any number of
// problems.
//
// Every episode has its own seed, and gradients are added up in the order of the episodes, so that
// results are the same bits on any number of threads.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/nn/parameters.h"
#include "doppler/place/search/scorer.h"
#include "doppler/policy/features/node_features.h"
#include "doppler/policy/model.h"

namespace doppler::train {

struct MeanTime {
  double seconds = 0.0, episodes = 0.0;
};

// A problem to learn from, and the best episode that was seen of it. One thread at a time.
class Task {
 public:
  // Throws ParameterError where the model is not for so many devices.
  Task(std::shared_ptr<const cost::Problem> problem, const policy::Model& model,
       schedule::Objective objective = schedule::Objective::kNominal,
       policy::Priorities priorities = policy::Priorities::kOrder);

  const cost::Problem& problem() const { return *problem_; }
  const policy::NodeFeatures& nodes() const { return nodes_; }
  // Infinite before the first episode that fits.
  double best_time() const { return best_time_; }
  const policy::Episode& best() const { return best_; }
  // Of the closest to fitting, as long as none does.
  double least_excess_bytes() const { return least_excess_bytes_; }
  // Of all episodes that fitted, for Recipe::kPaper.
  const MeanTime& mean_time() const { return mean_time_; }
  void set_mean_time(const MeanTime& mean) { mean_time_ = mean; }
  schedule::Placement placement_of(const policy::Episode& episode) const;
  // Of the best episode or, where none fitted into memory, of that which came closest. REQUIRES:
  // there was one.
  schedule::Placement placement() const {
    return placement_of(std::isfinite(best_time_) ? best_ : closest_);
  }
  // Keeps the episode where it is the best so far or, as long as none fits, the closest to fitting.
  // The time is infinite where it does not fit, and then `excess_bytes` what was too much.
  void offer(const policy::Episode& episode, double time, double excess_bytes);
  // Times of episodes come from here instead of the simulator, in their order; infinite for one
  // that did not run. They are played by one thread then.
  void measure_with(std::function<double(const schedule::Placement&)> measure) {
    measure_ = std::move(measure);
  }

 private:
  friend class Learner;
  void need_scorers(std::size_t threads);

  std::shared_ptr<const cost::Problem> problem_;
  schedule::Objective objective_;
  policy::Priorities priorities_;
  policy::NodeFeatures nodes_;
  std::unique_ptr<policy::BatchRollout> rollout_;
  std::vector<std::unique_ptr<place::Scorer>> scorers_;  // by thread
  policy::Episode best_;
  double best_time_ = cost::kInfinity;
  policy::Episode closest_;
  double least_excess_bytes_ = cost::kInfinity;
  MeanTime mean_time_;
  std::function<double(const schedule::Placement&)> measure_;
};

// How episodes teach.
enum class Recipe : std::uint8_t {
  kBatches,  // sampled; each against the mean of its batch
  kPaper     // one at a time, the likeliest choice or now and then any; against the mean so far
};

struct LearnerSettings {
  Recipe recipe = Recipe::kBatches;
  std::size_t batch = 16;         // episodes for one update; 1 for Recipe::kPaper
  double entropy = 0.0;           // stake of the policies' entropy; only for Recipe::kPaper
  double longest_gradient = 1.0;  // longer ones are scaled down to it
  double self_imitation = 0.03;   // stake of the best episode so far, beside 1 for each of a batch
  int threads = 1;
};

struct BatchReport {
  double mean = 0.0, best = 0.0;  // times of the batch that fit; infinite where none does
  std::size_t misfits = 0;        // episodes that do not fit into memory
  double gradient_length = 0.0;   // before it was cut
  policy::LogProbability log_probability = {};  // mean over the batch
};

class Learner {
 public:
  // `model` must outlive this object.
  Learner(const policy::Model& model, LearnerSettings settings, std::vector<float> parameters);

  std::span<const float> parameters() const { return parameters_; }
  const nn::AdamState& optimiser() const { return adam_.state(); }
  // Goes on from a checkpoint.
  void restore(std::vector<float> parameters, nn::AdamState optimiser);

  // Plays a batch without learning, the first greedily, the others at every combination of some
  // temperatures of the two policies: where many choices must be right together, chances as they
  // were learnt are too wild. Times by episode; what is best goes to the task.
  std::vector<double> sample(Task& task, std::size_t count, std::uint64_t seed);
  // Learns from a batch which episodes were better than its mean (REINFORCE; advantages in units of
  // the batch's standard deviation).
  BatchReport reinforce(Task& task, std::uint64_t seed, double rate);
  // The same in the manner of Recipe::kPaper: one episode, with a share of choices at random.
  BatchReport reinforce_one(Task& task, std::uint64_t seed, double rate, double exploration);
  // Learns from episodes that ran elsewhere, each with what it counts: more of what has a positive
  // stake, less of what has a negative one.
  BatchReport learn(Task& task, std::span<const policy::Episode> episodes,
                    std::span<const double> stakes, double rate);
  // Learns to do what a teacher did.
  BatchReport imitate(Task& task, std::span<const policy::Episode> lessons, double rate);

 private:
  // decoding(i) of every episode.
  template <class DecodingOf>
  void play(Task& task, std::uint64_t seed, std::size_t count, const DecodingOf& decoding);
  // One step along the gradient of the sum of stakes times log probabilities. The first `played` of
  // the episodes are those played last.
  BatchReport step(Task& task, std::span<const policy::Episode* const> episodes,
                   std::span<const double> stakes, std::size_t played, double rate);
  std::size_t threads_for(std::size_t count) const;
  // body(thread, i) for every episode of a batch.
  template <class Body>
  void for_each_episode(std::size_t count, const Body& body) const;

  LearnerSettings settings_;
  std::vector<float> parameters_;
  nn::Adam adam_;
  std::unique_ptr<policy::Workspace> workspace_;
  std::vector<float> gradients_;
  // By episode of the batch.
  std::vector<policy::Episode> episodes_;
  std::vector<double> times_, excess_bytes_;
  std::vector<policy::LogProbability> log_probabilities_;
};

// Notices that a training has gone astray, and takes it back: where batches take half as long again
// against the best known as they once did, the parameters return to what they were then.
//
// One thread at a time.

class DivergenceWatch {
 public:
  // All that it knows; empty before the first state that is worth returning to.
  struct State {
    double level = 0.0;         // running mean over batches of log(mean time / best known time)
    std::uint64_t batches = 0;  // seen since the last return
    std::uint64_t returns = 0;
    double good_level = std::numeric_limits<double>::infinity();
    std::vector<float> parameters = {};
    nn::AdamState optimiser = {};
  };

  // The running mean covers all problems about twice.
  explicit DivergenceWatch(std::size_t problems);

  // After every update: `excess` is log(mean time of the batch / best known time). True where the
  // training had diverged and the learner was taken back.
  bool after_update(double excess, Learner& learner);

  // What learning rates are to be multiplied by: half as much after every return.
  double rate_factor() const;

  const State& state() const { return state_; }
  void restore(State state) { state_ = std::move(state); }

 private:
  std::uint64_t horizon_;  // batches
  State state_;
};

}  // namespace doppler::train
