// Runs a placement on a clock that jumps from event to event, on one thread: what the engine would
// do if every node and transfer took exactly as long as it is told. Deterministic for a seed.
#pragma once

#include <cstdint>

#include "doppler/cost/problem.h"
#include "doppler/exec/admission.h"
#include "doppler/exec/dispatch_queue.h"
#include "doppler/exec/duration_model.h"
#include "doppler/exec/transfer_plan.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

namespace doppler::exec {

// `order`, where set, gets the rank of every start. REQUIRES: `core` is one of this problem,
// placement and wiring. Throws InfeasibleError where it comes to a halt for want of memory.
schedule::Timeline run_virtually(const cost::Problem& problem, const schedule::Placement& placement,
                                 const Wiring& wiring, Core& core, const Pace& pace,
                                 std::uint64_t seed, StartOrder* order = nullptr);

}  // namespace doppler::exec
