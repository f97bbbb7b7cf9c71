// Tells what a change of the machine would do to a placement: one more device, a slower link, a
// lost device, less memory. Each change is tried with the placement as it is (repaired only where
// it must be) and with a new one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doppler/base/stop.h"
#include "doppler/cost/problem.h"
#include "doppler/place/registry.h"
#include "doppler/schedule/placement.h"

namespace doppler::analysis {

// The changes to try, each by itself. Where none is named, one of each kind is tried: a copy of the
// busiest device, the busiest channel at half its speed, the busiest device lost, half the memory.
struct MachineChanges {
  std::vector<std::string> added = {};                      // devices of which one more is added
  std::vector<std::pair<std::string, double>> slowed = {};  // channels, with factors on their speed
  std::vector<std::string> lost = {};                       // devices to do without
  std::vector<double> memory = {};                          // factors on every device's memory

  bool empty() const { return added.empty() && slowed.empty() && lost.empty() && memory.empty(); }
};

struct WhatIfSettings {
  cost::ProblemOptions problem = {};  // constraints in addition to the graph's
  std::uint64_t seed = 1;
  // The budget of each search for a new placement; exactly one of the two is set.
  std::optional<double> budget_seconds = std::nullopt;
  std::optional<std::uint64_t> max_evaluations = std::nullopt;
  int threads = 1;
  StopToken stop = {};  // ends the search at hand early and skips the changes after it
  // If set, this function is called before each case with the change in words.
  std::function<void(const std::string& change)> starting = {};
};

// One change and its effect. Makespans are simulated, in the problem's time unit.
struct WhatIfCase {
  std::string kind;    // "now", "added", "slowed", "lost", "memory"
  std::string change;  // in words: "gpu2 lost"
  // The makespan of the placement as it is; absent where it cannot be kept, which `failure`
  // explains.
  std::optional<double> kept = std::nullopt;
  std::size_t moved = 0;  // nodes that had to move
  // The makespan of a new placement, or of the one kept where that is better.
  std::optional<double> replaced = std::nullopt;
  std::string failure = {};
};

// Returns one case for the machine as it is, then one for each change; fewer where it is stopped.
// Throws ParameterError, with the closest names, for a device or channel that does not exist.
std::vector<WhatIfCase> what_if(const std::shared_ptr<const cost::Problem>& problem,
                                const schedule::Placement& placement, const MachineChanges& changes,
                                const place::Placer& method, const WhatIfSettings& settings);

}  // namespace doppler::analysis
