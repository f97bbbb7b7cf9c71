// What a run says of costs.
#pragma once

#include "doppler/cost/calibration.h"
#include "doppler/schedule/timeline.h"

namespace doppler::schedule {

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
