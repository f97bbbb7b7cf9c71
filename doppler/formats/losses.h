// What a graph holds beyond nodes, edges and single costs, for the notes of writers whose format
// has no place for it.
#pragma once

#include <string>
#include <vector>

#include "doppler/graph/graph.h"

namespace doppler::formats {

// One note for each of these that the graph has: inputs and parameters, output marks, updates,
// times by device kind, kernel calls, meta-ops, constraints.
std::vector<std::string> notes_on_extras(const graph::Graph& graph);

}  // namespace doppler::formats
