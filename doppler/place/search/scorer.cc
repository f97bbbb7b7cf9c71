#include "doppler/place/search/scorer.h"

#include <algorithm>

#include "doppler/sim/repeated_runs.h"

namespace doppler::place {

using cost::kInfinity;
using schedule::Objective;

Scorer::Scorer(const cost::Problem& problem, Objective objective)
    : problem_(problem), objective_(objective), simulator_(problem), meter_(problem) {}

double Scorer::score(const schedule::Placement& placement, double cutoff) {
  double value;
  if (objective_ == Objective::kNominal) {
    ++evaluations_;
    value = simulator_.makespan(placement, cutoff);
  } else {
    value = mean_score(placement, sample_seed_, kSamples, cutoff);
  }
  return value < kInfinity && problem_.memory_can_bind() && !fits(placement) ? kInfinity : value;
}

double Scorer::validate(const schedule::Placement& placement, std::uint64_t seed, double cutoff) {
  if (objective_ == Objective::kNominal) return score(placement, cutoff);
  const double value = mean_score(placement, seed, kValidationSamples, cutoff);
  return value < kInfinity && problem_.memory_can_bind() && !fits(placement) ? kInfinity : value;
}

double Scorer::mean_score(const schedule::Placement& placement, std::uint64_t seed, int samples,
                          double cutoff) {
  double sum = 0.0;
  for (int run = 0; run < samples; ++run) {
    sim::RunOptions options{.seed = sim::figure_seed(seed, run)};
    if (objective_ == Objective::kRobust) {
      options.jitter = sim::kRobustJitter;
    } else {
      options.choice = schedule::Choice::kRandom;
    }
    ++evaluations_;
    // What is left of cutoff x samples is the most that this run may take.
    sum += simulator_.makespan(placement, options, cutoff * samples - sum);
    if (sum == kInfinity) return kInfinity;
  }
  return sum / samples;
}

// Memory is judged on the nominal run.
bool Scorer::fits(const schedule::Placement& placement) {
  ++evaluations_;
  simulator_.timeline(placement, {}, timeline_);
  meter_.measure(timeline_);
  excess_bytes_ = std::max(0.0, meter_.excess_bytes());
  return excess_bytes_ == 0.0;
}

}  // namespace doppler::place
