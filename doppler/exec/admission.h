// Decides whether a start leaves enough memory, so that a run never exceeds a device's capacity and
// never gets stuck because memory is short.
//
// A StartOrder is an order of all starts in which everything fits if each start waits for its turn
// and copies that are no longer used are freed in between. A start out of that order is admitted
// only if everything before it in the order that has not started could also be allocated, even if
// nothing were freed. So the first start of the order that is still to come always finds its memory
// once those before it have ended, and some start can always go on. (This is the banker's algorithm
// of Dijkstra, 1965, with one known safe sequence.)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/exec/transfer_plan.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

namespace doppler::exec {

// An order of the starts of all nodes and transfers; a lower rank starts earlier.
struct StartOrder {
  std::vector<std::uint32_t> node_rank;      // by node
  std::vector<std::uint32_t> transfer_rank;  // by transfer
};

// Keeps count of the memory in use during a run. Not thread safe.
class Admission {
 public:
  // The plan must outlive this. REQUIRES: everything fits in the given order.
  Admission(const cost::Problem& problem, const schedule::Placement& placement,
            const TransferPlan& plan, const StartOrder& order);

  // Starts a run: only what is there before it is allocated.
  void begin();
  // Returns whether the node or transfer may start now.
  bool admits(NodeId node) const { return admits_start(starts_[node_start_[node.index()]]); }
  bool admits(TransferIndex transfer) const {
    return admits_start(starts_[transfer_start_[transfer]]);
  }
  // Allocates what the node or transfer brings. REQUIRES: it is admitted.
  void start(NodeId node) { allocate(starts_[node_start_[node.index()]]); }
  void start(TransferIndex transfer) { allocate(starts_[transfer_start_[transfer]]); }
  // Frees a copy whose last use has ended.
  void release(CopyIndex copy) { used_[plan_.copies()[copy].device.index()] -= bytes_[copy]; }

 private:
  // Describes what is allocated at once: the results of a node, or the copy that a transfer brings.
  // With free links several transfers bring the same copy: the first to start allocates it.
  struct Start {
    std::uint32_t device;
    std::uint32_t rank;
    double bytes;
    bool tight;                  // the device cannot hold everything that the run brings to it
    std::uint32_t position = 0;  // in the device's part of the order
    bool started = false;
  };

  bool admits_start(const Start& start) const;
  void allocate(Start& start);
  double pending_before(const Start& start) const;

  const TransferPlan& plan_;
  std::vector<double> bytes_;                       // by copy
  std::vector<double> capacity_, used_, at_start_;  // bytes by device
  std::vector<Start> starts_;
  std::vector<std::uint32_t> node_start_, transfer_start_;  // positions in starts_
  // By device: its starts in order, Fenwick trees of the bytes that they allocate in all and have
  // still to allocate, and the position of the first that is to come.
  std::vector<std::vector<std::uint32_t>> order_;
  std::vector<std::vector<double>> all_pending_, pending_;
  std::vector<std::size_t> first_;
};

// Returns an order of all starts in which the placement fits into memory: that of a run with the
// problem's costs or, if that does not fit and the mode is not synchronous, node after node with
// each transfer just before the first node that needs it. Throws InfeasibleError, naming the device
// and its largest tensors, if neither fits, so that the run is refused before it starts. Stricter
// than the memory rule of docs/semantics.md in one point: operands and results of a node that takes
// no time are in memory together.
StartOrder find_start_order(const cost::Problem& problem, const schedule::Placement& placement,
                            const TransferPlan& plan,
                            schedule::Mode mode = schedule::Mode::kWorkConserving);

}  // namespace doppler::exec
