// A spread of placements of one problem, to try something on: a third from random choices and
// methods in one pass, the others from searches and close to the best of all.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/place/registry.h"
#include "doppler/schedule/placement.h"

namespace doppler::analysis {

struct SampledPlacement {
  std::string origin;  // the method's name, or kNeighbour
  schedule::Placement placement;
  double predicted = 0.0;  // simulated makespan
};

// The best placement with some nodes on other devices.
inline constexpr const char* kNeighbour = "neighbour";
// Neighbours are predicted to be at most this share slower than the best.
inline constexpr double kNearShare = 0.2;

struct SampleSettings {
  int placements = 60;
  std::uint64_t max_evaluations = 2000;                 // of each search, or
  std::optional<double> budget_seconds = std::nullopt;  // of both together: not repeatable
  std::uint64_t seed = 1;
  int threads = 1;                               // for searches; does not change their results
  const std::atomic<bool>* interrupt = nullptr;  // ends searches early; may be null
};

// No two have the same devices, and all fit in memory by the simulator. Fewer than asked for where
// the problem does not have as many. Throws ParameterError for settings out of range, and what a
// method throws where none found anything.
std::vector<SampledPlacement> sample_placements(const cost::Problem& problem,
                                                const place::Registry& methods,
                                                const SampleSettings& settings);

}  // namespace doppler::analysis
