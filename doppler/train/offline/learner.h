// Updates a policy's parameters, one batch of episodes after another, on any number of problems.
//
// Every episode has a seed of its own, and gradients are added up in the order of the episodes, so
// that results have the same bits on any number of threads.
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

#include "doppler/base/stop.h"
#include "doppler/cost/problem.h"
#include "doppler/nn/parameters.h"
#include "doppler/place/search/scorer.h"
#include "doppler/policy/model.h"

namespace doppler::train {

// The mean time of a task's episodes that fitted into memory, and how many these were.
struct MeanTime {
  double seconds = 0.0, episodes = 0.0;
};

// A problem to learn from, and the best episode that was seen of it. Not thread safe.
class Task {
 public:
  // `model` must outlive this object. Throws ParameterError if the model is for another number of
  // devices.
  Task(std::shared_ptr<const cost::Problem> problem, const policy::Model& model,
       schedule::Objective objective = schedule::Objective::kNominal,
       policy::Priorities priorities = policy::Priorities::kOrder);
  ~Task();

  const cost::Problem& problem() const { return *problem_; }
  const policy::NodeFeatures& nodes() const { return *nodes_; }
  // Returns the best episode's time, in the problem's unit; infinite before the first episode that
  // fits into memory.
  double best_time() const { return best_time_; }
  const policy::Episode& best() const { return best_; }
  // Returns by how many bytes the closest episode did not fit, as long as none fits; else infinity
  // or an earlier value.
  double least_excess_bytes() const { return least_excess_bytes_; }
  // Returns the mean over all episodes that fitted. Only Recipe::kPaper keeps it.
  const MeanTime& mean_time() const { return mean_time_; }
  void set_mean_time(const MeanTime& mean) { mean_time_ = mean; }
  // Returns the episode as a placement, with the priorities that the task was made with.
  schedule::Placement placement_of(const policy::Episode& episode) const;
  // Returns the placement of the best episode or, if none fitted into memory, of the one that came
  // closest. It is empty if there was no episode yet.
  schedule::Placement placement() const {
    return placement_of(std::isfinite(best_time_) ? best_ : closest_);
  }
  // Keeps the episode if it is the best so far or, as long as none fits, the closest to fitting.
  // `time` is infinite if it does not fit, and `excess_bytes` is then by how much.
  void offer(const policy::Episode& episode, double time, double excess_bytes);
  // Takes the times of episodes from `measure` instead of the simulator, one after the other in the
  // order of the batch. `measure` returns infinity for a placement that did not run.
  void measure_with(std::function<double(const schedule::Placement&)> measure) {
    measure_ = std::move(measure);
  }

 private:
  friend class Learner;
  void need_scorers(std::size_t threads);

  std::shared_ptr<const cost::Problem> problem_;
  schedule::Objective objective_;
  policy::Priorities priorities_;
  std::unique_ptr<const policy::NodeFeatures> nodes_;
  std::unique_ptr<policy::BatchRollout> rollout_;
  std::vector<std::unique_ptr<place::Scorer>> scorers_;  // by thread
  policy::Episode best_;
  double best_time_ = cost::kInfinity;
  policy::Episode closest_;
  double least_excess_bytes_ = cost::kInfinity;
  MeanTime mean_time_;
  std::function<double(const schedule::Placement&)> measure_;
};

// Selects how episodes teach.
enum class Recipe : std::uint8_t {
  kBatches,  // Episodes are sampled and compared with the mean of their batch.
  kPaper  // One episode at a time takes the likeliest choices, or any with a small chance, and is
          // compared with the mean so far.
};

struct LearnerSettings {
  Recipe recipe = Recipe::kBatches;
  std::size_t batch = 16;         // episodes for one update; 1 for Recipe::kPaper
  double entropy = 0.0;           // weight of the policies' entropy, for models that take it
  double longest_gradient = 1.0;  // longer gradients are scaled down to this length
  // The weight of the best episode so far, where every episode of the batch has weight 1.
  double self_imitation = 0.03;
  int threads = 1;
};

// Holds the outcome of one batch of episodes. Times are in the problem's unit.
struct BatchReport {
  // The mean and the smallest time of the episodes that fitted; infinite if none did.
  double mean = 0.0, best = 0.0;
  std::size_t misfits = 0;  // episodes that did not fit into memory
  // The length of the gradient before it was scaled down. If it is not finite, no step was made.
  double gradient_length = 0.0;
  policy::LogProbability log_probability = {};  // mean over the batch
};

// Holds the parameters and the optimiser. Not thread safe; one call uses several threads.
class Learner {
 public:
  // `model` must outlive this object.
  Learner(const policy::Model& model, LearnerSettings settings, std::vector<float> parameters);

  std::span<const float> parameters() const { return parameters_; }
  const nn::AdamState& optimiser() const { return adam_.state(); }
  // Returns whether restore() may be called with these: they are of this network, and no number in
  // them is one that learning cannot have come to.
  bool accepts(std::span<const float> parameters, const nn::AdamState& optimiser) const;
  // Continues from a checkpoint. REQUIRES: accepts() it.
  void restore(std::vector<float> parameters, nn::AdamState optimiser);

  // Plays `count` episodes without learning: the first takes the likeliest choices, the others
  // combine several temperatures of the two policies, since the probabilities as learnt are too
  // wild where many choices must be right together. Returns the episodes' times; the best goes to
  // the task. If `stop` is interrupted, only those that have begun are played, the first one in any
  // case; the others have infinite times.
  std::vector<double> sample(Task& task, std::size_t count, std::uint64_t seed,
                             const StopToken& stop = {});
  // Plays a batch and learns which of its episodes were better than their mean (REINFORCE, with
  // advantages in units of the batch's standard deviation). Where episodes improve a placement that
  // is complete from the start, and times are simulated, each step has an advantage of its own.
  BatchReport reinforce(Task& task, std::uint64_t seed, double rate);
  // Learns in the manner of Recipe::kPaper: from one episode, with a share of random choices.
  BatchReport reinforce_one(Task& task, std::uint64_t seed, double rate, double exploration);
  // Learns from episodes that ran elsewhere. Their log probabilities count in the loss with
  // `weights`: an episode with a positive weight becomes likelier, one with a negative weight less
  // likely.
  BatchReport learn(Task& task, std::span<const policy::Episode> episodes,
                    std::span<const double> weights, double rate);
  // Learns to do what a teacher did.
  BatchReport imitate(Task& task, std::span<const policy::Episode> teacher_episodes, double rate);

 private:
  // Plays `count` episodes; decoding(i) says how choices of episode i are made, and `stop` is that
  // of sample().
  template <class DecodingOf>
  void play(Task& task, std::uint64_t seed, std::size_t count, const DecodingOf& decoding,
            const StopToken& stop = {});
  // Fills times_by_step_ for the episodes that were played.
  void time_steps(Task& task, std::size_t count);
  // Returns the weights of each step of the played episodes: by how much the time improves from
  // there on, against the mean over the batch at this step, in units of its standard deviation. The
  // time at the step counts with the slope, between 0 and 1, of the line that best foretells the
  // last time from it: early in an episode it says little, and would only add noise. Late steps,
  // after which little can happen, would count for nothing in units that all steps share. A
  // weight is 0 where all episodes are the same. `all_bytes` is the size of all tensors.
  std::vector<std::vector<double>> weights_by_step(std::size_t count, double all_bytes) const;
  // Makes one step along the gradient of the sum of weights times log probabilities. The first
  // `played` of the episodes are those that were played last.
  BatchReport step(Task& task, std::span<const policy::Episode* const> episodes,
                   std::span<const policy::EpisodeWeights> weights, std::size_t played,
                   double rate);
  std::size_t threads_for(std::size_t count) const;
  // Calls body(thread, i) for every episode of a batch.
  template <class Body>
  void for_each_episode(std::size_t count, const Body& body) const;

  LearnerSettings settings_;
  std::vector<float> parameters_;
  nn::Adam adam_;
  std::unique_ptr<policy::Workspace> workspace_;
  std::vector<float> gradients_;
  // The following are indexed by episode of the batch.
  std::vector<policy::Episode> episodes_;
  std::vector<double> times_, excess_bytes_;
  // The time of the placement at a step of an episode, which is infinite if it does not fit into
  // memory, and by how many bytes it does not.
  struct StepTime {
    double time = 0.0, excess_bytes = 0.0;
  };
  // By episode, for models whose episodes improve a placement: before each step and after the last.
  std::vector<std::vector<StepTime>> times_by_step_;
  std::vector<policy::LogProbability> log_probabilities_;
};

// Notices that a training has diverged, and takes it back: if batches become one and a half times
// as slow, relative to the best known time, as they once were, the parameters return to what they
// were then. Not thread safe.
class DivergenceWatch {
 public:
  // All that the watch knows. Parameters are empty before the first state worth returning to.
  struct State {
    double level = 0.0;         // running mean over batches of log(mean time / best known time)
    std::uint64_t batches = 0;  // seen since the last return
    std::uint64_t returns = 0;  // times that the training was taken back
    double good_level = std::numeric_limits<double>::infinity();
    std::vector<float> parameters = {};
    nn::AdamState optimiser = {};
  };

  // Makes the running mean long enough to cover each of `problems` about twice.
  explicit DivergenceWatch(std::size_t problems);

  // Takes note of an update; `excess` is log(mean time of the batch / best known time). REQUIRES:
  // it is called after every update. Returns true if the training had diverged and the learner was
  // taken back.
  bool after_update(double excess, Learner& learner);

  // Returns the factor of the learning rates, which is halved by every return.
  double rate_factor() const;

  const State& state() const { return state_; }
  void restore(State state) { state_ = std::move(state); }

 private:
  std::uint64_t horizon_;  // batches
  State state_;
};

}  // namespace doppler::train
