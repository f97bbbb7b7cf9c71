// The simulators (docs/semantics.md): work-conserving, and synchronous for comparison; and the view
// of a run that they leave behind.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

namespace doppler::sim {

struct RunOptions {
  schedule::Choice choice = schedule::Choice::kPriority;
  // Every cost is multiplied by exp(jitter x z), where z is standard normal.
  double jitter = 0.0;
  // The seed of the random choice and of the jitter. Equal seeds give equal runs, whatever ran
  // before.
  std::uint64_t seed = 0;
};

// --- a run as it is left behind ---
//
// It says of each node why it started when it did. The two records of a node are kept apart by who
// needs them, since large graphs are bound by memory and deliveries touch nodes all over the graph.

// Stands for no node: as the cause of a node that waited for nothing, and as the predecessor of the
// first node on a device.
inline constexpr std::uint32_t kNoNode = 0xffffffffu;

// The part of a node's state that the delivery of an input touches: half a cache line.
struct alignas(32) NodeState {
  double ready;           // when the last of its inputs so far arrives
  std::uint32_t missing;  // inputs not yet accounted for
  std::uint32_t cause;    // producer of the input that arrives last, or kNoNode
  std::uint32_t device;   // in the placement under test
  std::uint32_t rank;     // by priority, the highest first, ties to the lower id
  double duration;        // on its device, before jitter
};
static_assert(sizeof(NodeState) == 32);

// The part of a node's state that only its start touches.
struct StartState {
  double start;
  // A lower bound on the time from the node's start to the end of any run: the longest path in
  // least compute times, made smaller by kCutoffMargin so that rounding never cuts off a run that
  // would have been in time.
  double tail;
  std::uint32_t previous;  // node before it on its device, or kNoNode
};

// The states of all nodes, by node.
struct RunView {
  std::span<const NodeState> nodes;
  std::span<const StartState> starts;
};

// --- the simulators ---

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
