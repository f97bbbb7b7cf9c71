// A run whose durations are known beforehand, as a series of moments at which nodes and transfers
// end and others start. The same code decides whether the clock jumps from moment to moment
// (virtual_run.h) or waits for each (an engine that paces, engine.h), so that both do the same in
// the same order. Not thread safe.
#pragma once

#include <algorithm>
#include <cstdint>
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

class TimedRun {
 public:
  // What has to be done when something happens. Times are in the problem's unit, from the start of
  // the run.
  class Host {
   public:
    virtual ~Host() = default;
    // How long it takes.
    virtual double node_starts(NodeId node, DeviceId device, double now) = 0;
    // `others`: transfers that are under way already.
    virtual double transfer_starts(TransferIndex transfer, std::uint32_t others, double now) = 0;
    // Its time has passed. False where it has not ended all the same: postpone() then says when it
    // does, or nobody cares any more.
    virtual bool node_ends(NodeId node, double now) = 0;
    virtual bool transfer_ends(TransferIndex transfer, double now) = 0;
    // Nothing reads these copies any more.
    virtual void copies_released(std::span<const CopyIndex> copies) = 0;
  };

  // All must outlive the run. Starts nothing yet: the first moment is 0.
  TimedRun(const cost::Problem& problem, const schedule::Placement& placement,
           const TransferPlan& wiring, DispatchQueue& core, Host& host, std::uint64_t seed);

  // The moment at which something is to happen next; nothing where nothing is under way.
  std::optional<double> next() const;
  // Goes on to that moment: what ends then ends, and what may start then starts.
  void advance();
  // Likewise, but nothing starts any more.
  void end_only();
  // What did not end when it was to ends at `moment`, or at once where that has passed.
  void postpone_node(NodeId node, double moment) { push(std::max(moment, now_), node.index()); }
  void postpone_transfer(TransferIndex transfer, double moment) {
    push(std::max(moment, now_), nodes_ + transfer);
  }

 private:
  struct End {
    double moment;
    std::size_t id;  // below the number of nodes: a node; else a transfer
  };
  static bool later(const End& a, const End& b) {
    return a.moment != b.moment ? a.moment > b.moment : a.id > b.id;
  }
  void push(double moment, std::size_t id);
  void go_on();
  void end_due();

  const std::size_t nodes_;
  const schedule::Placement& placement_;
  DispatchQueue& core_;
  Host& host_;
  std::vector<End> ends_;           // a heap, the next one first
  std::vector<std::uint8_t> busy_;  // by device
  std::vector<DeviceId> touched_;   // scratch of advance()
  std::uint32_t moving_ = 0;        // transfers
  double now_ = 0.0;
  bool begun_ = false;
};

// Runs a placement on a clock that jumps from event to event, on one thread: what the engine would
// do if every node and transfer took exactly as long as it is told. Deterministic for a seed.

// `order`, where set, gets the rank of every start. REQUIRES: `core` is one of this problem,
// placement and wiring. Throws InfeasibleError where it comes to a halt for want of memory.
schedule::Timeline run_virtually(const cost::Problem& problem, const schedule::Placement& placement,
                                 const TransferPlan& wiring, DispatchQueue& core,
                                 const DurationModel& pace, std::uint64_t seed,
                                 StartOrder* order = nullptr);

}  // namespace doppler::exec
