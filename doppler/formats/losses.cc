#include "doppler/formats/losses.h"

#include <fmt/format.h>

namespace doppler::formats {

std::vector<std::string> notes_on_extras(const graph::Graph& graph) {
  std::size_t given = 0, outputs = 0, updates = 0, kinds = 0, kernels = 0, scopes = 0;
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    given += graph.role(tensor) != graph::TensorRole::kValue;
    outputs += graph.is_output(tensor);
    updates += graph.updates(tensor).valid();
  }
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    const NodeId node = NodeId::of(v);
    kinds += !graph.times_by_kind(node).empty();
    kernels += graph.kernel_call(node) != nullptr;
    scopes += !graph.scope(node).empty();
  }
  std::vector<std::string> notes;
  const auto note = [&](std::size_t count, const char* what) {
    if (count > 0) notes.push_back(fmt::format("{} are left out ({})", what, count));
  };
  note(given, "inputs and parameters");
  note(outputs, "marks of graph outputs");
  note(updates, "updates of parameters");
  note(kinds, "times by kind of device");
  note(kernels, "kernel calls");
  note(graph.meta_op_names().size(), "meta-ops");
  note(scopes, "scopes of nodes");
  if (!graph.constraints().empty()) notes.push_back("constraints are left out");
  return notes;
}

}  // namespace doppler::formats
