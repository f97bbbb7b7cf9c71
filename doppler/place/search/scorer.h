// Scorer computes the value that a search minimises; SearchBudget counts the steps of a tree
// search.
#pragma once

#include <cstdint>
#include <vector>

#include "doppler/base/stop.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/memory.h"
#include "doppler/schedule/metrics.h"
#include "doppler/schedule/placement.h"
#include "doppler/sim/simulator.h"

namespace doppler::place {

// Computes the value of a placement for any of the three objectives. Not thread safe: one per
// thread.
class Scorer {
 public:
  // Runs behind one value of a stochastic objective: few, since a search looks at many placements.
  static constexpr int kSamples = 8;
  // Runs behind the values by which a search compares its best placements.
  static constexpr int kValidationSamples = 64;

  // `problem` must outlive the scorer.
  Scorer(const cost::Problem& problem, schedule::Objective objective);

  // Chooses the runs that stand for a stochastic objective. The nominal objective does not use
  // them.
  void set_samples(std::uint64_t seed) { sample_seed_ = seed; }

  // Returns the value, or infinity as soon as it is known to be `cutoff` or more, or where the
  // placement does not fit in memory.
  double score(const schedule::Placement& placement, double cutoff);
  // Returns the same over kValidationSamples runs, for the objectives that are means.
  double validate(const schedule::Placement& placement, std::uint64_t seed, double cutoff);

  // Returns the bytes above capacity of the placement that was scored last. REQUIRES: its score was
  // infinite with an infinite cutoff.
  double excess_bytes() const { return excess_bytes_; }

  bool stochastic() const { return objective_ != schedule::Objective::kNominal; }
  // Returns the number of simulated runs so far, including those that were cut off.
  std::uint64_t evaluations() const { return evaluations_; }
  // Returns a view of the last run that was not cut off.
  sim::RunView last_run() const { return simulator_.last_run(); }

 private:
  double mean_score(const schedule::Placement& placement, std::uint64_t seed, int samples,
                    double cutoff);
  bool fits(const schedule::Placement& placement);

  const cost::Problem& problem_;
  schedule::Objective objective_;
  sim::Simulator simulator_;
  schedule::MemoryMeter meter_;
  schedule::Timeline timeline_;
  std::uint64_t sample_seed_ = 0;
  double excess_bytes_ = 0.0;
  std::uint64_t evaluations_ = 0;
};

// Counts the steps of a tree search and says when to stop. Not thread safe.
class SearchBudget {
 public:
  // With `max_steps` 0 only `stop` ends the search.
  SearchBudget(std::uint64_t max_steps, StopToken stop) : max_steps_(max_steps), stop_(stop) {}

  // Takes one step. Returns false where the budget is spent, and from then on.
  bool step() {
    if (spent_) return false;
    ++steps_;
    if (max_steps_ != 0 && steps_ >= max_steps_) spent_ = true;
    // Reading the clock takes long compared with a step.
    if (steps_ % 256 == 0 && stop_.stop_requested()) spent_ = true;
    return !spent_;
  }
  bool spent() const { return spent_; }
  std::uint64_t steps() const { return steps_; }

 private:
  std::uint64_t max_steps_;
  StopToken stop_;
  std::uint64_t steps_ = 0;
  bool spent_ = false;
};

}  // namespace doppler::place
