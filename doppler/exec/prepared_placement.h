// A placement made ready to run: everything that is worked out once and used by every run of it.
#pragma once

#include <cstdint>
#include <memory>

#include "doppler/cost/problem.h"
#include "doppler/exec/admission.h"
#include "doppler/exec/dispatch_queue.h"
#include "doppler/exec/duration_model.h"
#include "doppler/exec/transfer_plan.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

namespace doppler::exec {

// Members refer to one another, so an object of this type is never copied or moved. Everything but
// `queue` is immutable; threads that share the queue take turns.
struct PreparedPlacement {
  // Throws ParameterError for a placement that does not belong to the problem, and InfeasibleError
  // for one that breaks a constraint or does not fit into memory.
  PreparedPlacement(std::shared_ptr<const cost::Problem> problem, schedule::Placement placement,
                    DispatchQueue::Rules rules);
  PreparedPlacement(const PreparedPlacement&) = delete;
  PreparedPlacement& operator=(const PreparedPlacement&) = delete;

  const std::shared_ptr<const cost::Problem> problem;
  const schedule::Placement placement;
  const TransferPlan transfer_plan;
  const StartOrder start_order;
  DispatchQueue queue;
};

// Runs the placement on a virtual clock (timed_run.h) and returns the timeline. `seed` decides
// jitter and random choices. Memory suffices, since a start order was found.
schedule::Timeline run_virtually(PreparedPlacement& prepared, const DurationModel& durations,
                                 std::uint64_t seed);

}  // namespace doppler::exec
