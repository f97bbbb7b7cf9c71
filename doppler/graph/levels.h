// Levels of a graph: how far each node is from the sources, and how many nodes stand side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "doppler/graph/graph.h"

namespace doppler::graph {

struct Levels {
  // Of each node: the number of edges on the longest path that leads to it from a node without
  // producers.
  std::vector<std::uint32_t> of_node;
  // The nodes of each level, by rising id.
  Csr<NodeId> nodes;

  std::size_t depth() const { return nodes.rows(); }
  // The size of the largest level.
  std::size_t width() const;
};

Levels compute_levels(const Graph& graph);

}  // namespace doppler::graph
