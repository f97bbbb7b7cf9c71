// The steps in which `enumerative` places a graph.
#pragma once

#include <vector>

#include "doppler/graph/graph.h"

namespace doppler::place {

// Every node in one stage, in topological order inside it. The shard kernels of a meta-op are one
// stage, and so are those of its reductions that are equally deep in its tree of reductions; nodes
// of no meta-op are grouped by level (edges on the longest path from a source). A stage follows
// those that it reads from, except where two stages read from each other, which sharded programs do
// not do.
std::vector<std::vector<NodeId>> stages(const graph::Graph& graph);

}  // namespace doppler::place
