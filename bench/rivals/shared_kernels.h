// The kernels of a graph as work of a rival's tasks: one buffer for each tensor in memory that all
// workers share, so that nothing is copied between them.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "bench/rivals/runtime.h"
#include "doppler/graph/serial_runner.h"

namespace doppler::bench {

class SharedKernels final : public Work {
 public:
  // Keeps a reference to the graph. `values` of inputs and parameters, as for the serial runner.
  SharedKernels(const graph::Graph& graph, const graph::TensorValues<float>& values);

  void run(NodeId node) override;
  // New values of parameters take the place of the old ones.
  void end_run() override;

  // Of the last run: outputs of the graph and new values of parameters.
  graph::TensorValues<float> results() const;

 private:
  void find_operands(NodeId node);

  const graph::Graph& graph_;
  std::vector<std::unique_ptr<kernel::cpu::Runnable<float>>> kernels_;  // by node
  std::vector<std::vector<float>> buffers_;                             // by tensor
  std::vector<std::vector<const float*>> inputs_;                       // by node
  std::vector<std::vector<float*>> outputs_;                            // by node
  std::vector<std::pair<TensorId, TensorId>> updates_;                  // new value, parameter
  std::vector<NodeId> touched_;  // nodes that read or write one of these
};

}  // namespace doppler::bench
