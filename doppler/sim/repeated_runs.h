// Runs one placement many times in the simulator: for its three figures (nominal, robust, any
// order; docs/semantics.md), and under settings of the caller's choice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "doppler/base/stop.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/metrics.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

namespace doppler::sim {

// The standard deviation of the logarithm of each cost in a `robust` run.
inline constexpr double kRobustJitter = 0.05;

// Returns the number of runs behind each of the two distributions: 100, or 10 above 10,000 nodes.
int figure_runs(const cost::Problem& problem);

// Returns the seed of run number `run` of either distribution.
std::uint64_t figure_seed(std::uint64_t seed, int run);

// Returns the figures of a placement. The same seed gives the same numbers on any number of
// threads. REQUIRES: the placement passes check_placement.
schedule::Figures measure_figures(const cost::Problem& problem,
                                  const schedule::Placement& placement, std::uint64_t seed,
                                  int threads = 1);

// Holds the settings of repeated runs of one placement.
struct SimulateSettings {
  schedule::Mode mode = schedule::Mode::kWorkConserving;
  schedule::Choice choice = schedule::Choice::kPriority;
  int runs = 1;
  double jitter = 0.0;        // see sim::RunOptions
  double barrier_time = 0.0;  // synchronous mode only
  std::uint64_t seed = 1;     // of the first run; the seeds of the others derive from it
  StopToken stop = {};        // asked between runs; the first run always takes place
};

struct SimulateResult {
  int runs = 0;  // fewer than asked for where it was stopped
  // Makespans over the runs, in the problem's time unit.
  double min = 0.0;
  double median = 0.0;
  double max = 0.0;
  // All that follows describes the first run.
  schedule::Timeline timeline;
  std::vector<double> utilisation;        // by device, busy time / makespan
  std::vector<double> peak_memory_bytes;  // by device
  double excess_memory_bytes = 0.0;
  std::string failure = {};  // which device lacks memory, when, and what fills it; empty: it fits
};

// Runs the placement as often as the settings say and sums up. REQUIRES: the placement passes
// check_placement; runs >= 1.
SimulateResult simulate(const cost::Problem& problem, const schedule::Placement& placement,
                        const SimulateSettings& settings);

}  // namespace doppler::sim
