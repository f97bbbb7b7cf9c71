#include "doppler/graph/serial_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "doppler/base/error.h"
#include "doppler/graph/builder.h"
#include "doppler/kernel/kernel_call.h"

namespace doppler::graph {
namespace {

bool is_result(const Graph& graph, TensorId tensor) {
  return graph.is_output(tensor) || graph.updates(tensor).valid();
}

}  // namespace

template <class T>
SerialRunner<T>::SerialRunner(const Graph& graph)
    : graph_(graph), runnables_(graph.node_count()), shapes_(graph.tensor_count(), nullptr) {
  for (const NodeId node : graph.topological_order()) {
    const kernel::KernelCall* call = graph.kernel_call(node);
    if (!call) {
      throw InputError(fmt::format("node '{}' carries no kernel call, so that it cannot be run",
                                   graph.node_name(node)));
    }
    note_shapes(graph, node, *call, shapes_);
    try {
      runnables_[node.index()] = kernel::cpu::bind<T>(*call);
    } catch (const InputError& error) {
      throw InputError(fmt::format("node '{}': {}", graph.node_name(node), error.what()));
    }
  }
}

template <class T>
const kernel::Shape* SerialRunner<T>::shape(TensorId tensor) const {
  return shapes_[tensor.index()];
}

template <class T>
void SerialRunner<T>::check_given(const TensorValues<T>& given) const {
  for (const auto& [tensor, values] : given) {
    if (tensor.index() >= graph_.tensor_count()) {
      throw InputError(
          fmt::format("a value is given for tensor {}, which is not there", tensor.value()));
    }
    const auto name = graph_.tensor_name(tensor);
    if (graph_.role(tensor) == TensorRole::kValue) {
      throw InputError(fmt::format("tensor '{}' is given a value, but node '{}' computes it", name,
                                   graph_.node_name(graph_.producer(tensor))));
    }
    const kernel::Shape* shape = shapes_[tensor.index()];
    if (shape && static_cast<std::int64_t>(values.size()) != kernel::element_count(*shape)) {
      throw InputError(fmt::format("tensor '{}' is {}, so that it has {} elements, not {}", name,
                                   kernel::to_text(*shape), kernel::element_count(*shape),
                                   values.size()));
    }
  }
  for (std::size_t t = 0; t < graph_.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    if (graph_.role(tensor) == TensorRole::kValue || given.contains(tensor)) continue;
    if (graph_.consumers(tensor).empty() && !graph_.is_output(tensor)) continue;
    throw InputError(fmt::format("{} '{}' has no value",
                                 graph_.role(tensor) == TensorRole::kInput ? "input" : "parameter",
                                 graph_.tensor_name(tensor)));
  }
}

template <class T>
TensorValues<T> SerialRunner<T>::run(const TensorValues<T>& given) const {
  return *run(given, StopToken());
}

template <class T>
std::optional<TensorValues<T>> SerialRunner<T>::run(const TensorValues<T>& given,
                                                    const StopToken& stop) const {
  check_given(given);
  std::vector<std::vector<T>> computed(graph_.tensor_count());  // values only
  std::vector<std::size_t> uses_left(graph_.tensor_count());
  for (std::size_t t = 0; t < uses_left.size(); ++t) {
    uses_left[t] = graph_.consumers(TensorId::of(t)).size();
  }
  const auto release = [&](TensorId tensor) {
    if (!is_result(graph_, tensor)) std::vector<T>().swap(computed[tensor.index()]);
  };
  std::vector<const T*> inputs;
  std::vector<T*> outputs;
  for (const NodeId node : graph_.topological_order()) {
    if (stop.stop_requested()) return std::nullopt;
    inputs.clear();
    outputs.clear();
    for (const TensorId tensor : graph_.inputs(node)) {
      const bool value = graph_.role(tensor) == TensorRole::kValue;
      inputs.push_back(value ? computed[tensor.index()].data() : given.at(tensor).data());
    }
    for (const TensorId tensor : graph_.outputs(node)) {
      auto& values = computed[tensor.index()];
      values.resize(static_cast<std::size_t>(kernel::element_count(*shapes_[tensor.index()])));
      outputs.push_back(values.data());
    }
    runnables_[node.index()]->run(inputs, outputs);
    for (const TensorId tensor : graph_.outputs(node)) {
      if (uses_left[tensor.index()] == 0) release(tensor);
    }
    // A tensor that occurs twice among the operands counts as one use.
    for (const TensorId tensor : graph_.inputs(node)) {
      auto& left = uses_left[tensor.index()];
      const auto operands = graph_.inputs(node);
      if (&tensor != &*std::find(operands.begin(), operands.end(), tensor)) continue;
      if (--left == 0) release(tensor);
    }
  }
  TensorValues<T> results;
  for (std::size_t t = 0; t < graph_.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    if (!is_result(graph_, tensor)) continue;
    const bool value = graph_.role(tensor) == TensorRole::kValue;
    results.emplace(tensor, value ? std::move(computed[t]) : given.at(tensor));
  }
  return results;
}

template class SerialRunner<float>;
template class SerialRunner<double>;

}  // namespace doppler::graph
