// Whether a start leaves enough memory, so that a run can neither exceed a device's capacity nor
// come to a halt for want of memory.
//
// There is an order of all starts in which everything fits (StartOrder): each start in turn, what
// is no longer used freed in between. A start out of that order is admitted only if everything that
// comes before it in the order and has not started could also be allocated, even if nothing were
// freed. So the first start in the order that is still to come always finds its memory once those
// before it have ended, and some start can always go on. (Reservation as in the banker's algorithm
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

// Nodes and transfers by rank, in an order in which their starts fit into memory.
struct StartOrder {
  std::vector<std::uint32_t> node_rank;      // by node
  std::vector<std::uint32_t> transfer_rank;  // by transfer
};

class Admission {
 public:
  Admission(const cost::Problem& problem, const schedule::Placement& placement,
            const TransferPlan& wiring, const StartOrder& order);

  void begin();
  bool admits(NodeId node) const { return admits_start(starts_[node_start_[node.index()]]); }
  bool admits(TransferIndex transfer) const {
    return admits_start(starts_[transfer_start_[transfer]]);
  }
  void start(NodeId node) { allocate(starts_[node_start_[node.index()]]); }
  void start(TransferIndex transfer) { allocate(starts_[transfer_start_[transfer]]); }
  void release(CopyIndex copy) { used_[wiring_.copies()[copy].device.index()] -= bytes_[copy]; }

  double used_bytes(DeviceId device) const { return used_[device.index()]; }

 private:
  // What is allocated at once: the results of a node, or the copy that a transfer brings. With free
  // links several transfers bring the same copy: the first to start allocates it.
  struct Start {
    std::uint32_t device;
    std::uint32_t rank;
    double bytes;
    bool tight;                  // the device may run out
    std::uint32_t position = 0;  // in the device's order
    bool started = false;
  };

  bool admits_start(const Start& start) const;
  void allocate(Start& start);
  double pending_before(const Start& start) const;

  const TransferPlan& wiring_;
  std::vector<double> bytes_;  // by copy
  std::vector<double> capacity_, used_, at_start_;
  std::vector<Start> starts_;
  std::vector<std::uint32_t> node_start_, transfer_start_;  // positions in starts_
  // By device: starts in its order, a Fenwick tree of what they are still to allocate, and the
  // first that is to come.
  std::vector<std::vector<std::uint32_t>> order_;
  std::vector<std::vector<double>> all_pending_, pending_;
  std::vector<std::size_t> first_;
};

// An order of all starts in which a placement fits into memory: what admission.h relies on.

// The order of a run with the problem's costs, if that fits; else, where levels do not forbid it,
// node after node, each transfer just before the first node that needs it. Throws InfeasibleError
// that names the device and its largest tensors where neither fits: the run is refused before it
// starts. Stricter than the memory rule of docs/semantics.md in one point: operands and results of
// a node that takes no time are there together.
StartOrder find_start_order(const cost::Problem& problem, const schedule::Placement& placement,
                            const TransferPlan& wiring,
                            schedule::Mode mode = schedule::Mode::kWorkConserving);

}  // namespace doppler::exec
