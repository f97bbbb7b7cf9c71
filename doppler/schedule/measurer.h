// The interface of a machine on which placements run: a real one, or an emulated one in its place.
#pragma once

#include <cstdint>

#include "doppler/cost/calibration.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

namespace doppler::schedule {

// Measures placements by running them. Samples are noisy, and each costs something. Not thread
// safe.
class Measurer {
 public:
  virtual ~Measurer() = default;
  // Runs the placement once. `run` is the number of the run: where noise is simulated, equal
  // numbers give equal noise. Throws what the engine throws. REQUIRES: the placement passes
  // check_placement.
  virtual Timeline measure(const Placement& placement, std::uint64_t run) = 0;
};

// Returns the durations of all nodes and transfers of a run, to calibrate costs with.
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
