// The checker of timelines. It is written from the rules of docs/semantics.md alone, independently
// of the simulator and the engine, so that it can judge both.
#pragma once

#include <string>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/schedule/timeline.h"

namespace doppler::schedule {

// Selects what is checked beyond the rules that hold for every run.
struct CheckOptions {
  // Times may deviate by this much (absolute, in the problem's unit): 0 for a simulator, the
  // clock's resolution for an engine.
  double tolerance = 0.0;
  // If set, durations must equal the problem's costs. Turn it off for runs with jitter and for
  // engines.
  bool durations = true;
  // If set, in work-conserving runs no device may idle while one of its nodes is ready, no transfer
  // may wait while its route is free, and the choice rule's best must go first (priority and fifo).
  bool work_conserving = true;
  // If set, peak memory must stay within capacity.
  bool memory = false;
  // The time that one barrier of a synchronous run takes, in the problem's unit.
  double barrier_time = 0.0;
};

// Returns the violations in words, up to a dozen. The timeline is accepted where there are none.
std::vector<std::string> check_timeline(const cost::Problem& problem, const Timeline& timeline,
                                        const CheckOptions& options = {});

}  // namespace doppler::schedule
