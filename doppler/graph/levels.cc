#include "doppler/graph/levels.h"

#include <algorithm>

namespace doppler::graph {

std::size_t Levels::width() const {
  std::size_t largest = 0;
  for (std::size_t level = 0; level < depth(); ++level) {
    largest = std::max(largest, nodes[level].size());
  }
  return largest;
}

Levels compute_levels(const Graph& graph) {
  Levels levels;
  levels.of_node.assign(graph.node_count(), 0);
  std::size_t depth = 0;
  for (const NodeId node : graph.topological_order()) {
    std::uint32_t level = 0;
    for (const TensorId tensor : graph.inputs(node)) {
      const NodeId producer = graph.producer(tensor);
      if (producer.valid()) level = std::max(level, levels.of_node[producer.index()] + 1);
    }
    levels.of_node[node.index()] = level;
    depth = std::max<std::size_t>(depth, level + 1);
  }
  levels.nodes = Csr<NodeId>::build(depth, [&](const auto& visit) {
    for (std::size_t v = 0; v < graph.node_count(); ++v) visit(levels.of_node[v], NodeId::of(v));
  });
  return levels;
}

}  // namespace doppler::graph
