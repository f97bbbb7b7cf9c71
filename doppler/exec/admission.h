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
#include "doppler/exec/wiring.h"

namespace doppler::exec {

// Nodes and transfers by rank, in an order in which their starts fit into memory.
struct StartOrder {
  std::vector<std::uint32_t> node_rank;      // by node
  std::vector<std::uint32_t> transfer_rank;  // by transfer
};

class Admission {
 public:
  Admission(const cost::Problem& problem, const schedule::Placement& placement,
            const Wiring& wiring, const StartOrder& order);

  void begin();
  bool admits(NodeId node) const { return admits_start(node_start_[node.index()]); }
  bool admits(TransferIndex transfer) const { return admits_start(transfer_start_[transfer]); }
  void start(NodeId node) { allocate(node_start_[node.index()]); }
  void start(TransferIndex transfer) { allocate(transfer_start_[transfer]); }
  void release(CopyIndex copy) { used_[wiring_.copies()[copy].device.index()] -= bytes_[copy]; }

  double used_bytes(DeviceId device) const { return used_[device.index()]; }

 private:
  struct Start {
    std::uint32_t device;
    std::uint32_t position;  // in the device's order
    double bytes;
    bool tight;  // the device may run out
  };

  bool admits_start(const Start& start) const;
  void allocate(const Start& start);
  double pending_before(const Start& start) const;

  const Wiring& wiring_;
  std::vector<double> bytes_;  // by copy
  std::vector<double> capacity_, used_, at_start_;
  std::vector<Start> node_start_, transfer_start_;
  // By device: a Fenwick tree of what is still to be allocated, in the device's order, and the
  // first position that is.
  std::vector<std::vector<double>> all_pending_, pending_;
  std::vector<std::vector<std::uint8_t>> started_;
  std::vector<std::uint32_t> first_;
};

}  // namespace doppler::exec
