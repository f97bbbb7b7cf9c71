// What a change of the machine would do to a placement: one more device, a slower link, a device
// lost, less memory. For each the makespan of the placement as it is, repaired only where it must
// be, and of a new one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/place/placer.h"
#include "doppler/schedule/placement.h"

namespace doppler::analysis {

// What to try. Where nothing is named, one of each: a copy of the busiest device, the busiest
// channel at half its speed, the busiest device lost, half the memory.
struct Changes {
  std::vector<std::string> added = {};                      // devices to have one more of
  std::vector<std::pair<std::string, double>> slowed = {};  // channels, times their speed
  std::vector<std::string> lost = {};                       // devices
  std::vector<double> memory = {};                          // shares of every device's memory

  bool empty() const { return added.empty() && slowed.empty() && lost.empty() && memory.empty(); }
};

struct WhatIfSettings {
  cost::ProblemOptions problem = {};  // constraints that are not the graph's
  std::uint64_t seed = 1;
  // Of each search for a new placement; exactly one of the two.
  std::optional<double> budget_seconds = std::nullopt;
  std::optional<std::uint64_t> max_evaluations = std::nullopt;
  int threads = 1;
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(const std::string& change)> starting = {};
};

struct WhatIfCase {
  std::string kind;    // "now", "added", "slowed", "lost", "memory"
  std::string change;  // in words: "gpu2 lost"
  // Of the placement as it is; absent where it cannot be kept: `failure` says why.
  std::optional<double> kept = std::nullopt;
  std::size_t moved = 0;  // nodes that had to move
  // The better of a new placement and the one kept.
  std::optional<double> replaced = std::nullopt;
  std::string failure = {};
};

// The machine as it is comes first. Throws ParameterError for a device or channel that is not
// there, with the closest names. Where interrupted: the cases so far.
std::vector<WhatIfCase> what_if(const std::shared_ptr<const cost::Problem>& problem,
                                const schedule::Placement& placement, const Changes& changes,
                                const place::Placer& method, const WhatIfSettings& settings);

}  // namespace doppler::analysis
