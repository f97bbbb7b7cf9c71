// Measures the figures of a placement: nominal, robust, any order (docs/semantics.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/schedule/metrics.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

namespace doppler::sim {

// The standard deviation of the logarithm of each cost in a `robust` run.
inline constexpr double kRobustJitter = 0.05;

// Runs behind each of the two distributions: 100, and 10 above 10,000 nodes.
int figure_runs(const cost::Problem& problem);

// The seed of run number `run` of either distribution.
std::uint64_t figure_seed(std::uint64_t seed, int run);

// The same numbers for the same seed, on any number of threads.
schedule::Figures measure_figures(const cost::Problem& problem,
                                  const schedule::Placement& placement, std::uint64_t seed,
                                  int threads = 1);

// Runs a placement several times in the simulator and sums up.

struct SimulateSettings {
  schedule::Mode mode = schedule::Mode::kWorkConserving;
  schedule::Choice choice = schedule::Choice::kPriority;
  int runs = 1;
  double jitter = 0.0;        // see sim::RunOptions
  double barrier_time = 0.0;  // synchronous mode only
  std::uint64_t seed = 1;     // of the first run; the others derive theirs from it
  const std::atomic<bool>* interrupt = nullptr;
};

struct SimulateResult {
  int runs = 0;  // fewer than asked for where interrupted
  // Over the runs.
  double min = 0.0;
  double median = 0.0;
  double max = 0.0;
  // Of the first run.
  schedule::Timeline timeline;
  std::vector<double> utilisation;        // by device, busy time / makespan
  std::vector<double> peak_memory_bytes;  // by device
  double excess_memory_bytes = 0.0;
  std::string failure = {};  // which device lacks memory, when, and what fills it; empty: it fits
};

// REQUIRES: the placement passes check_placement; runs >= 1.
SimulateResult simulate(const cost::Problem& problem, const schedule::Placement& placement,
                        const SimulateSettings& settings);

}  // namespace doppler::sim
