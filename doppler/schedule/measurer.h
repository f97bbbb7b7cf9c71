// Real runs, or what stands for them: noisy samples, each of which costs something. Not thread
// safe.
#pragma once

#include <cstdint>

#include "doppler/cost/calibration.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

namespace doppler::schedule {

class Measurer {
 public:
  virtual ~Measurer() = default;
  // One run. `run` is its number: where noise is made up, equal numbers give equal noise. Throws
  // what the engine throws. REQUIRES: the placement passes check_placement.
  virtual Timeline measure(const Placement& placement, std::uint64_t run) = 0;
};

// What a run says of costs.

inline cost::Observations observations_of(const Timeline& timeline) {
  cost::Observations seen;
  seen.nodes.reserve(timeline.nodes.size());
  for (std::size_t v = 0; v < timeline.nodes.size(); ++v) {
    const NodeRun& run = timeline.nodes[v];
    seen.nodes.push_back({NodeId::of(v), timeline.device[v], run.end - run.start});
  }
  seen.transfers.reserve(timeline.transfers.size());
  for (const TransferRun& run : timeline.transfers) {
    seen.transfers.push_back({run.tensor, run.from, run.to, run.end - run.start});
  }
  return seen;
}

}  // namespace doppler::schedule
