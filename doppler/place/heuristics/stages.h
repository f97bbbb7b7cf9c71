// The steps in which `enumerative` places a graph.
#pragma once

#include <vector>

#include "doppler/graph/graph.h"

namespace doppler::place {

// Returns the nodes by stage, in topological order inside each stage; every node is in exactly one.
// The shard kernels of a meta-op are one stage, and so are those of its reductions that are equally
// deep in its tree of reductions. Nodes of no meta-op are grouped by level (edges on the longest
// path from a source). A stage comes after the stages that it reads from, except where two stages
// read from each other, which does not happen in sharded programs.
std::vector<std::vector<NodeId>> stages(const graph::Graph& graph);

}  // namespace doppler::place
