// Measures the figures of a placement: nominal, robust, any order (docs/semantics.md).
#pragma once

#include <cstdint>

#include "doppler/cost/problem.h"
#include "doppler/schedule/figures.h"
#include "doppler/schedule/placement.h"

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

}  // namespace doppler::sim
