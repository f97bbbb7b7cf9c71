// Whether the kernel calls of a graph are well-formed and fit its tensors.
#pragma once

#include <vector>

#include "doppler/graph/graph.h"
#include "doppler/kernel/registry.h"

namespace doppler::graph {

// Sets the shape that the call has for each operand and result of the node. `known` has an entry
// per tensor, null where nothing is known. Throws GraphError where the call has another number of
// them than the node, or where a shape is not the known one.
void note_shapes(const Graph& graph, NodeId node, const kernel::KernelCall& call,
                 std::vector<const kernel::Shape*>& known);

// Throws GraphError at the first node whose call is ill-formed by the rules of its kernel, or does
// not fit the node's tensors as note_shapes says. Calls of kernels that are not in the registry are
// taken as they are.
void check_calls(const Graph& graph, const kernel::Registry& kernels);

}  // namespace doppler::graph
