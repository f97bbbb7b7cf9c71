// What the simulator makes of a run on the engine if every node and transfer takes exactly as long
// as it took in that run. Where the engine needs longer than this, the difference is its own:
// waking threads, taking turns, starting late.
#pragma once

#include "doppler/cost/problem.h"
#include "doppler/schedule/timeline.h"

namespace doppler::bench {

// The makespan in seconds, work-conserving with the run's devices and priorities. REQUIRES: `run`
// is one of this problem. Exact on two devices; on more, deliveries of one new parameter value to
// several devices all take as long as the longest.
double replayed_makespan(const cost::Problem& problem, const schedule::Timeline& run);

}  // namespace doppler::bench
