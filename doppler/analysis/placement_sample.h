// Samples a spread of placements of one problem, to try something on: a third come from random
// choices and one-pass methods, the others from searches and from near the best of all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doppler/base/stop.h"
#include "doppler/cost/problem.h"
#include "doppler/place/registry.h"
#include "doppler/schedule/placement.h"

namespace doppler::analysis {

struct SampledPlacement {
  std::string origin;  // the method's name, or kNeighbour
  schedule::Placement placement;
  double predicted = 0.0;  // simulated makespan
};

// The origin of placements that are the best one with some nodes on other devices.
inline constexpr const char* kNeighbour = "neighbour";
// Neighbours are predicted to be at most this share slower than the best.
inline constexpr double kNearShare = 0.2;

struct SampleSettings {
  int placements = 60;
  // The budget of each search. A time for both searches together, where set, takes its place; the
  // sample then is not repeatable.
  std::uint64_t max_evaluations = 2000;
  std::optional<double> budget_seconds = std::nullopt;
  std::uint64_t seed = 1;
  int threads = 1;      // for searches; does not change their results
  StopToken stop = {};  // ends searches early
};

// Returns placements of which no two have the same devices, and which all fit in memory according
// to the simulator. There are fewer than asked for where the problem does not have as many. Throws
// ParameterError for settings out of range, and what a method throws where none found a placement.
std::vector<SampledPlacement> sample_placements(const cost::Problem& problem,
                                                const place::Registry& methods,
                                                const SampleSettings& settings);

}  // namespace doppler::analysis
