// Works out once, for many runs, what a placement means for data: on which devices copies of each
// tensor lie, which transfers bring them there, who waits for each copy and how often it is used.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "doppler/base/csr.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"

namespace doppler::exec {

using CopyIndex = std::uint32_t;
using TransferIndex = std::uint32_t;

// A tensor in the memory of one device.
struct Copy {
  TensorId tensor;
  DeviceId device;
  double bytes = 0.0;       // 0 for the new value of a parameter, which takes its place
  std::uint32_t uses = 0;   // nodes that read the copy, and transfers that leave from it
  bool from_start = false;  // it is there before the run
  bool kept = false;        // it stays to the end: outputs, parameters and their new values
};

// One movement of a tensor between devices. With channel links there is one per tensor and
// destination; with free links one per tensor and consumer, and one per destination of a new
// parameter value.
struct Transfer {
  TensorId tensor;
  NodeId consumer = {};  // with free links only; invalid otherwise
  DeviceId from, to;
  CopyIndex source, target;
  double duration = 0.0;  // by the problem's costs, in its unit
  double priority = 0.0;  // the highest of the nodes that wait for it
};

// Immutable, so that threads can share it freely.
class TransferPlan {
 public:
  // REQUIRES: the placement passes check_placement.
  TransferPlan(const cost::Problem& problem, const schedule::Placement& placement);

  std::span<const Copy> copies() const { return copies_; }
  std::span<const Transfer> transfers() const { return transfers_; }

  // Return the copies that a node reads and makes, in the order of the graph, and those that it
  // reads without repetitions.
  std::span<const CopyIndex> operands(NodeId node) const { return operands_[node.index()]; }
  std::span<const CopyIndex> results(NodeId node) const { return results_[node.index()]; }
  std::span<const CopyIndex> distinct_operands(NodeId node) const {
    return distinct_operands_[node.index()];
  }
  // Returns how many tensors the node waits for: those with a producer or a home.
  std::uint32_t awaited(NodeId node) const { return awaited_[node.index()]; }

  // Returns the copy on the device of the tensor's producer or at its home, from which transfers
  // leave. REQUIRES: the tensor has a producer or a home.
  CopyIndex origin(TensorId tensor) const { return origin_[tensor.index()]; }
  // Returns the positions of the tensor's transfers in transfers().
  std::span<const TransferIndex> transfers_of(TensorId tensor) const {
    return transfers_of_[tensor.index()];
  }
  // Return the nodes that wait for a transfer, and those that wait for a tensor at its origin.
  std::span<const NodeId> waiting(TransferIndex transfer) const { return waiting_[transfer]; }
  std::span<const NodeId> waiting_at_origin(TensorId tensor) const {
    return at_origin_[tensor.index()];
  }

 private:
  std::vector<Copy> copies_;
  std::vector<Transfer> transfers_;
  Csr<CopyIndex> operands_, results_, distinct_operands_;
  std::vector<std::uint32_t> awaited_;
  std::vector<CopyIndex> origin_;
  Csr<TransferIndex> transfers_of_;
  Csr<NodeId> waiting_, at_origin_;
};

}  // namespace doppler::exec
