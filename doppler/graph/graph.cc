#include "doppler/graph/graph.h"

#include <algorithm>

namespace doppler::graph {

const kernel::KernelCall* Graph::kernel_call(NodeId node) const {
  const auto found = std::lower_bound(
      kernel_calls_.begin(), kernel_calls_.end(), node.value(),
      [](const auto& entry, std::uint32_t wanted) { return entry.first < wanted; });
  return found != kernel_calls_.end() && found->first == node.value() ? &found->second : nullptr;
}

std::optional<MetaMembership> Graph::meta_op(NodeId node) const {
  if (node_meta_.empty() || node_meta_[node.index()].meta_op == kNoMeta) return std::nullopt;
  return node_meta_[node.index()];
}

std::optional<double> Graph::transfer_time(TensorId tensor, std::size_t i) const {
  if (const auto own = consumer_transfer_time(tensor, i)) return own;
  return transfer_time(tensor);
}

std::string_view Graph::home(TensorId tensor) const {
  const auto found = std::lower_bound(
      homes_.begin(), homes_.end(), tensor.value(),
      [](const auto& entry, std::uint32_t wanted) { return entry.first < wanted; });
  return found != homes_.end() && found->first == tensor.value() ? std::string_view(found->second)
                                                                 : std::string_view();
}

std::optional<NodeId> Graph::find_node(std::string_view name) const {
  const auto found = std::lower_bound(
      nodes_by_name_.begin(), nodes_by_name_.end(), name,
      [&](std::uint32_t i, std::string_view wanted) { return text(node_names_, i) < wanted; });
  if (found == nodes_by_name_.end() || text(node_names_, *found) != name) return std::nullopt;
  return NodeId(*found);
}

}  // namespace doppler::graph
