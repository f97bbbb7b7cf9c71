// Predicted times of nodes: the default where a graph has no times for a device. They follow from
// what each of a node's kernels computes, in which type and shape, and from the hardware figures of
// the device (kernel_times.h).
#pragma once

#include <optional>
#include <vector>

#include "doppler/cost/cost_model.h"
#include "doppler/cost/kernel_runs.h"
#include "doppler/device/topology.h"
#include "doppler/graph/graph.h"

namespace doppler::cost {

// The times of all kernels of a node and of their launches. On kinds of devices without hardware
// figures, such as CPUs, a kernel takes what a roofline says, with the efficiency of its op, or
// else of ops of its class.
class Predicted final : public CostModel {
 public:
  // Keeps a reference to the graph: node_time() is for its nodes alone.
  Predicted(const graph::Graph& graph, Precision precision) : runs_(graph, precision) {}

  std::optional<double> node_time(const graph::Graph& graph, NodeId node,
                                  const device::DeviceKind& kind) const override;

 private:
  KernelRuns runs_;
};

}  // namespace doppler::cost
