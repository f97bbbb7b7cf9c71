// A placed graph as task runtimes see it: who waits for whom, and where each task is to run.
#pragma once

#include <cstdint>
#include <vector>

#include "doppler/base/csr.h"
#include "doppler/graph/graph.h"
#include "doppler/schedule/placement.h"

namespace doppler::bench {

// Immutable. Keeps a reference to the graph.
struct TaskGraph {
  TaskGraph(const graph::Graph& graph, const schedule::Placement& placement);

  const graph::Graph& graph;
  Csr<NodeId> predecessors;           // by node, each once
  std::vector<std::uint32_t> worker;  // by node
  std::vector<int> rank;              // by node: distinct, from 1; higher priorities have higher
};

}  // namespace doppler::bench
