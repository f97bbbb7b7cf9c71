// The simulators (docs/semantics.md): work-conserving, and synchronous for comparison.
#pragma once

#include <cstdint>
#include <memory>

#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"
#include "doppler/sim/run_view.h"

namespace doppler::sim {

struct RunOptions {
  schedule::Choice choice = schedule::Choice::kPriority;
  // Every cost is multiplied by exp(jitter x z), where z is standard normal.
  double jitter = 0.0;
  // The seed of the random choice and of the jitter. Equal seeds give equal runs, whatever ran
  // before.
  std::uint64_t seed = 0;
};

// The work-conserving simulator. It is exact, and allocates nothing after its first run: all state
// lives in flat arrays sized once. Not thread safe: one object per thread, which may share the
// Problem.
class Simulator final {
 public:
  // `problem` must outlive the simulator.
  explicit Simulator(const cost::Problem& problem);
  ~Simulator();
  Simulator(Simulator&&) noexcept;

  // Returns the nominal makespan, or infinity as soon as it is known to be `cutoff` or more.
  // REQUIRES, here and below: the placement passes check_placement.
  double makespan(const schedule::Placement& placement, double cutoff);
  // Returns the makespan of a run under `options`, or infinity likewise.
  double makespan(const schedule::Placement& placement, const RunOptions& options,
                  double cutoff = cost::kInfinity);

  // Returns the timeline of the nominal run.
  schedule::Timeline timeline(const schedule::Placement& placement);
  // Replaces `out` by the timeline of a run under `options`, reusing its memory.
  void timeline(const schedule::Placement& placement, const RunOptions& options,
                schedule::Timeline& out);

  // Returns why nodes started when they did in the last run, valid until the next one. Means
  // nothing where the last run was cut off.
  RunView last_run() const;

  const cost::Problem& problem() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// Returns a bulk-synchronous run, level by level with barriers. `barrier_time` is paid for each
// barrier, of which a level has two: after its transfers and after its nodes. Choice and jitter are
// as in the work-conserving simulator.
schedule::Timeline run_synchronous(const cost::Problem& problem,
                                   const schedule::Placement& placement, double barrier_time = 0.0,
                                   const RunOptions& options = {});

}  // namespace doppler::sim
