// Runs a graph whose nodes all carry kernel calls: one node after the other in topological order,
// on one thread. The reference that engines are checked against.
//
// The i-th input and output of a node's call are the i-th of Graph::inputs(node) and
// Graph::outputs(node). T is float or double.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/graph/graph.h"
#include "doppler/kernel/cpu/runnable.h"

namespace doppler::graph {

// Dense row-major elements of some tensors.
template <class T>
using TensorValues = std::unordered_map<TensorId, std::vector<T>>;

// The tensor of this name, found by looking through all. Throws InputError that names the closest.
TensorId find_tensor(const Graph& graph, std::string_view name);

// Immutable; runs may go on in several threads. Keeps a reference to the graph.
template <class T>
class SerialRunner {
 public:
  // Binds every call. Throws InputError that names the node where one has no call, where its call
  // is ill-formed or does not fit its number of operands, or where two calls disagree on a tensor's
  // shape.
  explicit SerialRunner(const Graph& graph);

  // Takes a value for each input and parameter that a node reads (others may be there, too) and
  // returns outputs of the graph and new values of parameters. A tensor's memory is freed after its
  // last use. Throws InputError that names the tensor where a value is missing, is not an input or
  // parameter, or has another number of elements.
  TensorValues<T> run(const TensorValues<T>& given) const;

  // The shape that the calls give a tensor; null where no call has it.
  const kernel::Shape* shape(TensorId tensor) const;

 private:
  void check_given(const TensorValues<T>& given) const;

  const Graph& graph_;
  std::vector<std::unique_ptr<kernel::cpu::Runnable<T>>> runnables_;  // of each node
  std::vector<const kernel::Shape*> shapes_;                          // of each tensor, or null
};

extern template class SerialRunner<float>;
extern template class SerialRunner<double>;

}  // namespace doppler::graph
