// The work-conserving simulator (docs/semantics.md), exact and without allocation after warm-up.
//
// One object per thread; the Problem is shared. All state lives in flat arrays sized once.
#pragma once

#include <cstdint>
#include <memory>

#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"
#include "doppler/sim/ready_queues.h"

namespace doppler::sim {

struct RunOptions {
  schedule::Choice choice = schedule::Choice::kPriority;
  // Every cost is multiplied by exp(jitter x z), z standard normal.
  double jitter = 0.0;
  // Of the random choice and the jitter. Equal seeds give equal runs, whatever ran before.
  std::uint64_t seed = 0;
};

class Simulator final {
 public:
  // `problem` must outlive the simulator.
  explicit Simulator(const cost::Problem& problem);
  ~Simulator();
  Simulator(Simulator&&) noexcept;

  // The nominal makespan, or infinity as soon as it is known to be `cutoff` or more. Does not
  // allocate after the first call. REQUIRES: the placement passes check_placement.
  double makespan(const schedule::Placement& placement, double cutoff);
  double makespan(const schedule::Placement& placement, const RunOptions& options,
                  double cutoff = cost::kInfinity);

  schedule::Timeline timeline(const schedule::Placement& placement);
  // Into a timeline that is reused.
  void timeline(const schedule::Placement& placement, const RunOptions& options,
                schedule::Timeline& out);

  // Of the last run, if that was not cut off (node_state.h). Valid until the next.
  RunView last_run() const;

  const cost::Problem& problem() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// Bulk-synchronous execution, level by level with barriers, for comparison (docs/semantics.md).

// `barrier_time` is paid per barrier: two for each level, after its transfers and after its nodes.
// Choice and jitter as in the work-conserving simulator.
schedule::Timeline run_synchronous(const cost::Problem& problem,
                                   const schedule::Placement& placement, double barrier_time = 0.0,
                                   const RunOptions& options = {});

}  // namespace doppler::sim
