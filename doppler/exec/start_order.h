// An order of all starts in which a placement fits into memory: what admission.h relies on.
#pragma once

#include "doppler/cost/problem.h"
#include "doppler/exec/admission.h"
#include "doppler/exec/transfer_plan.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

namespace doppler::exec {

// The order of a run with the problem's costs, if that fits; else, where levels do not forbid it,
// node after node, each transfer just before the first node that needs it. Throws InfeasibleError
// that names the device and its largest tensors where neither fits: the run is refused before it
// starts. Stricter than the memory rule of docs/semantics.md in one point: operands and results of
// a node that takes no time are there together.
StartOrder find_start_order(const cost::Problem& problem, const schedule::Placement& placement,
                            const Wiring& wiring,
                            schedule::Mode mode = schedule::Mode::kWorkConserving);

}  // namespace doppler::exec
