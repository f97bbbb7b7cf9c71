// Accepts a Timeline only if it obeys every rule of docs/semantics.md. Written from the rules alone
// and independent of the simulator and the engine, so that it can judge both.
#pragma once

#include <string>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/schedule/timeline.h"

namespace doppler::schedule {

struct CheckOptions {
  // Times may deviate by this much (absolute, in the problem's unit): 0 for a simulator, the
  // clock's resolution for an engine.
  double tolerance = 0.0;
  // Durations equal the problem's costs. Off for runs with jitter and for engines.
  bool durations = true;
  // No device is left idle while one of its nodes is ready, no transfer waits while its route is
  // free, and among the ready the choice rule's best went first (priority and fifo).
  // Work-conserving runs only.
  bool work_conserving = true;
  // Peak memory stays within capacity.
  bool memory = false;
  // What one barrier costs in a synchronous run.
  double barrier_time = 0.0;
};

// Every violation found, in words, up to a dozen; empty means accepted.
std::vector<std::string> check_timeline(const cost::Problem& problem, const Timeline& timeline,
                                        const CheckOptions& options = {});

}  // namespace doppler::schedule
