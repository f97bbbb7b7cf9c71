// Bulk-synchronous execution, level by level with barriers, for comparison (docs/semantics.md).
#pragma once

#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"
#include "doppler/sim/simulator.h"

namespace doppler::sim {

// `barrier_time` is paid per barrier: two for each level, after its transfers and after its nodes.
// Choice and jitter as in the work-conserving simulator.
schedule::Timeline run_synchronous(const cost::Problem& problem,
                                   const schedule::Placement& placement, double barrier_time = 0.0,
                                   const RunOptions& options = {});

}  // namespace doppler::sim
