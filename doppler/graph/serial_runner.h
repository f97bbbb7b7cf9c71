// The reference that engines are checked against: runs a graph whose nodes all carry kernel calls,
// one node after the other in topological order, on the calling thread.
//
// The i-th input and output of a node's call are the i-th of Graph::inputs(node) and
// Graph::outputs(node). T is float or double.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/base/stop.h"
#include "doppler/graph/graph.h"
#include "doppler/kernel/cpu/runnable.h"

namespace doppler::graph {

// The elements of some tensors, dense and row-major.
template <class T>
using TensorValues = std::unordered_map<TensorId, std::vector<T>>;

// A graph whose calls are bound to CPU kernels. Immutable, so several threads may run it at once.
// Keeps a reference to the graph, which must outlive it.
template <class T>
class SerialRunner {
 public:
  // Binds every call. Throws InputError, naming the node, if a node has no call, if its call is
  // ill-formed or has another number of operands than the node, or if two calls disagree on the
  // shape of a tensor.
  explicit SerialRunner(const Graph& graph);

  // Runs the graph once and returns the outputs of the graph and the new values of parameters.
  // `given` must have a value for each input and parameter that is read or is an output of the
  // graph, and may have others. A computed tensor is freed after its last use. Throws InputError,
  // naming the tensor, if a value is missing, is given for a tensor that a node computes, or has
  // another number of elements than the tensor.
  TensorValues<T> run(const TensorValues<T>& given) const;
  // Does the same unless `stop` is requested, which it asks before every node: then it returns
  // nothing.
  std::optional<TensorValues<T>> run(const TensorValues<T>& given, const StopToken& stop) const;

  // Returns the shape that the calls give a tensor, or null if no call has this tensor.
  const kernel::Shape* shape(TensorId tensor) const;

 private:
  void check_given(const TensorValues<T>& given) const;

  const Graph& graph_;
  std::vector<std::unique_ptr<kernel::cpu::Runnable<T>>> runnables_;  // by node
  std::vector<const kernel::Shape*> shapes_;  // by tensor, null where no call has it
};

extern template class SerialRunner<float>;
extern template class SerialRunner<double>;

}  // namespace doppler::graph
