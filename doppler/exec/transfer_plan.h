// What a placement makes of a problem, worked out once for many runs: where copies of each tensor
// come to lie, which transfers that takes, who waits for which copy and how often it is used.
// Immutable, so freely shared between threads.
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
  std::uint32_t uses = 0;   // nodes that read it here, and transfers out of here
  bool from_start = false;  // there before the run
  bool kept = false;        // to the end: outputs, parameters and their new values
};

// With channel links one job per tensor and destination; with free links one per tensor and
// consumer, and one per destination of a new parameter value.
struct Transfer {
  TensorId tensor;
  NodeId consumer = {};  // free links only
  DeviceId from, to;
  CopyIndex source, target;
  double duration = 0.0;  // by the problem's costs
  double priority = 0.0;  // highest among those who wait for it
};

class TransferPlan {
 public:
  // REQUIRES: the placement passes check_placement.
  TransferPlan(const cost::Problem& problem, const schedule::Placement& placement);

  std::span<const Copy> copies() const { return copies_; }
  std::span<const Transfer> transfers() const { return transfers_; }

  // By node: its operands and results in the order of the graph, and each distinct operand once.
  std::span<const CopyIndex> operands(NodeId node) const { return operands_[node.index()]; }
  std::span<const CopyIndex> results(NodeId node) const { return results_[node.index()]; }
  std::span<const CopyIndex> distinct_operands(NodeId node) const {
    return distinct_operands_[node.index()];
  }
  // How many tensors the node waits for: those with a producer or a home.
  std::uint32_t awaited(NodeId node) const { return awaited_[node.index()]; }

  // The copy that a tensor's producer or home makes: transfers leave from there. REQUIRES: it has
  // one.
  CopyIndex origin(TensorId tensor) const { return origin_[tensor.index()]; }
  // Of a tensor: positions of its transfers in transfers().
  std::span<const TransferIndex> transfers_of(TensorId tensor) const {
    return transfers_of_[tensor.index()];
  }
  // Nodes that wait for a transfer, and those that wait for a tensor at its origin.
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
