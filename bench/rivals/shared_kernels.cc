#include "bench/rivals/shared_kernels.h"

#include <algorithm>

#include "doppler/kernel/kernel_call.h"

namespace doppler::bench {

SharedKernels::SharedKernels(const graph::Graph& graph, const graph::TensorValues<float>& values)
    : graph_(graph),
      buffers_(graph.tensor_count()),
      inputs_(graph.node_count()),
      outputs_(graph.node_count()) {
  const graph::SerialRunner<float> shapes(graph);
  for (std::size_t t = 0; t < buffers_.size(); ++t) {
    const TensorId tensor = TensorId::of(t);
    if (const auto given = values.find(tensor); given != values.end()) {
      buffers_[t] = given->second;
    } else if (const kernel::Shape* shape = shapes.shape(tensor)) {
      buffers_[t].resize(static_cast<std::size_t>(kernel::element_count(*shape)));
    }
    if (!graph.updates(tensor).valid()) continue;
    updates_.emplace_back(tensor, graph.updates(tensor));
    touched_.push_back(graph.producer(tensor));
    for (const TensorId either : {tensor, graph.updates(tensor)}) {
      const auto readers = graph.consumers(either);
      touched_.insert(touched_.end(), readers.begin(), readers.end());
    }
  }
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    kernels_.push_back(kernel::cpu::bind<float>(*graph.kernel_call(NodeId::of(v))));
    find_operands(NodeId::of(v));
  }
}

void SharedKernels::find_operands(NodeId node) {
  inputs_[node.index()].clear();
  outputs_[node.index()].clear();
  for (const TensorId tensor : graph_.inputs(node)) {
    inputs_[node.index()].push_back(buffers_[tensor.index()].data());
  }
  for (const TensorId tensor : graph_.outputs(node)) {
    outputs_[node.index()].push_back(buffers_[tensor.index()].data());
  }
}

void SharedKernels::run(NodeId node) {
  kernels_[node.index()]->run(inputs_[node.index()], outputs_[node.index()]);
}

void SharedKernels::end_run() {
  for (const auto& [fresh, parameter] : updates_) {
    buffers_[fresh.index()].swap(buffers_[parameter.index()]);
  }
  for (const NodeId node : touched_) find_operands(node);
}

graph::TensorValues<float> SharedKernels::results() const {
  graph::TensorValues<float> found;
  for (std::size_t t = 0; t < buffers_.size(); ++t) {
    const TensorId tensor = TensorId::of(t);
    if (graph_.role(tensor) != graph::TensorRole::kValue) continue;
    const TensorId parameter = graph_.updates(tensor);
    if (!graph_.is_output(tensor) && !parameter.valid()) continue;
    found.emplace(tensor, buffers_[parameter.valid() ? parameter.index() : t]);
  }
  return found;
}

}  // namespace doppler::bench
