#include "doppler/graph/call_check.h"

#include <fmt/format.h>

#include <span>

#include "doppler/graph/builder.h"
#include "doppler/kernel/shape.h"

namespace doppler::graph {
namespace {

void note(const Graph& graph, NodeId node, std::span<const TensorId> tensors,
          std::span<const kernel::Shape> shapes, const char* what,
          std::vector<const kernel::Shape*>& known) {
  if (tensors.size() != shapes.size()) {
    throw GraphError(node, fmt::format("node '{}': its kernel call has {} {}, but the node has {}",
                                       graph.node_name(node), shapes.size(), what, tensors.size()));
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const kernel::Shape*& shape = known[tensors[i].index()];
    if (!shape) shape = &shapes[i];
    if (*shape != shapes[i]) {
      throw GraphError(node, fmt::format("node '{}': takes tensor '{}' as {}, but another call has "
                                         "it as {}",
                                         graph.node_name(node), graph.tensor_name(tensors[i]),
                                         kernel::to_text(shapes[i]), kernel::to_text(*shape)));
    }
  }
}

}  // namespace

void note_shapes(const Graph& graph, NodeId node, const kernel::KernelCall& call,
                 std::vector<const kernel::Shape*>& known) {
  note(graph, node, graph.inputs(node), call.inputs, "inputs", known);
  note(graph, node, graph.outputs(node), call.outputs, "outputs", known);
}

void check_calls(const Graph& graph, const kernel::Registry& kernels) {
  std::vector<const kernel::Shape*> known(graph.tensor_count(), nullptr);
  // Shards of an operation are mostly equal calls in a row: what was just accepted is not judged
  // again.
  const kernel::KernelCall* accepted = nullptr;
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    const NodeId node = NodeId::of(v);
    const kernel::KernelCall* call = graph.kernel_call(node);
    if (!call) continue;
    if (!accepted || *call != *accepted) {
      const kernel::Kernel* kernel = kernels.find(call->name);
      if (!kernel) continue;
      try {
        kernel->check(*call);
      } catch (const InputError& error) {
        throw GraphError(node, fmt::format("node '{}': {}", graph.node_name(node), error.what()));
      }
      accepted = call;
    }
    note_shapes(graph, node, *call, known);
  }
}

}  // namespace doppler::graph
