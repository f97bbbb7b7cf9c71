// A run whose durations are known beforehand: a series of moments at which nodes and transfers end
// and others start. The same code serves a virtual clock, which jumps from moment to moment
// (run_virtually()), and an engine that waits for each moment (engine.h), so that both do the same
// in the same order. What both have to work out beforehand is a PreparedPlacement.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/exec/admission.h"
#include "doppler/exec/dispatch_queue.h"
#include "doppler/exec/duration_model.h"
#include "doppler/exec/transfer_plan.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

namespace doppler::exec {

// Times are in the problem's unit, from the start of the run. Not thread safe.
class TimedRun {
 public:
  // Carries out what the run decides.
  class Host {
   public:
    virtual ~Host() = default;
    // Starts a node or a transfer and returns how long it takes. `others` is the number of other
    // transfers that are under way.
    virtual double node_starts(NodeId node, DeviceId device, double now) = 0;
    virtual double transfer_starts(TransferIndex transfer, std::uint32_t others, double now) = 0;
    // These are called when the duration of a node or a transfer has passed. They return false if
    // it has nevertheless not ended; then postpone_node() or postpone_transfer() says later when it
    // does, unless it was given up.
    virtual bool node_ends(NodeId node, double now) = 0;
    virtual bool transfer_ends(TransferIndex transfer, double now) = 0;
    // This function is called with copies that nothing reads any more.
    virtual void copies_released(std::span<const CopyIndex> copies) = 0;
  };

  // Begins a run of the queue; nothing starts before the first moment, which is 0. All arguments
  // must outlive this. REQUIRES: the queue is of this problem, placement and plan.
  TimedRun(const cost::Problem& problem, const schedule::Placement& placement,
           const TransferPlan& plan, DispatchQueue& queue, Host& host, std::uint64_t seed);

  // Returns the moment at which something is to happen next; nothing if nothing is under way.
  std::optional<double> next() const;
  // Goes on to that moment: ends what is to end then and starts what may start.
  void advance();
  // Goes on to that moment and ends what is to end then, but starts nothing any more.
  void end_only();
  // Gives an overdue node or transfer the end time `moment`, or the present if that has passed.
  void postpone_node(NodeId node, double moment) { push(std::max(moment, now_), node.index()); }
  void postpone_transfer(TransferIndex transfer, double moment) {
    push(std::max(moment, now_), nodes_ + transfer);
  }

 private:
  struct End {
    double moment;
    std::size_t id;  // of a node if below the number of nodes, else of a transfer
  };
  static bool later(const End& a, const End& b) {
    return a.moment != b.moment ? a.moment > b.moment : a.id > b.id;
  }
  void push(double moment, std::size_t id);
  void go_on();
  void end_due();

  const std::size_t nodes_;
  const schedule::Placement& placement_;
  DispatchQueue& queue_;
  Host& host_;
  std::vector<End> ends_;           // a heap with the next one first
  std::vector<std::uint8_t> busy_;  // by device
  std::vector<DeviceId> touched_;   // scratch of advance()
  std::uint32_t moving_ = 0;        // transfers that are under way
  double now_ = 0.0;
  bool begun_ = false;
};

// Runs a placement on a clock that jumps from event to event, on the calling thread: what an engine
// would do if every node and transfer took exactly as long as it is told. Returns the timeline,
// which depends on nothing but the arguments. `seed` decides jitter and random choices. If `order`
// is not null, it gets the rank of every start. Throws InfeasibleError if memory runs out.
// REQUIRES: the queue is of this problem, placement and plan.
schedule::Timeline run_virtually(const cost::Problem& problem, const schedule::Placement& placement,
                                 const TransferPlan& plan, DispatchQueue& queue,
                                 const DurationModel& durations, std::uint64_t seed,
                                 StartOrder* order = nullptr);

// A placement made ready to run: everything that is worked out once and used by every run of it.
//
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

// Runs the placement on a virtual clock and returns the timeline. `seed` decides jitter and random
// choices. Memory suffices, since a start order was found.
schedule::Timeline run_virtually(PreparedPlacement& prepared, const DurationModel& durations,
                                 std::uint64_t seed);

}  // namespace doppler::exec
