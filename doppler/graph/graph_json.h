// Our own graph format: versioned JSON, described in docs/formats/graph.md. It holds everything
// that a Graph holds, so that writing and reading back gives a graph with the same hash.
#pragma once

#include <string>
#include <string_view>

#include "doppler/graph/graph.h"

namespace doppler::graph {

// The newest version of the format that this program reads, and the one that it writes.
inline constexpr int kGraphJsonVersion = 1;

// `file` names the source in errors and names the graph where the text does not. Throws InputError
// with file:line:column, also where a kernel call is not what kernel::default_kernels() allows.
Graph read_graph_json(const std::string& file, std::string_view text);

// One node and one tensor on each line, in the order of their ids.
std::string write_graph_json(const Graph& graph);

}  // namespace doppler::graph
