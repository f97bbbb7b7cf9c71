// Reading and writing of Doppler's own graph format: versioned JSON, described in
// docs/formats/graph.md. It holds everything that a Graph holds, so that a graph that is written
// and read back has the same hash. Both functions may be called from several threads.
#pragma once

#include <string>
#include <string_view>

#include "doppler/graph/graph.h"

namespace doppler::graph {

// The newest version of the format that this program reads, and the one that it writes.
// The newest version that is read. Files without element types and works are written as version 1,
// which older programs read.
inline constexpr int kGraphJsonVersion = 2;

// Reads a graph. `file` names the source in errors, and names the graph if the text does not.
// Throws InputError with file:line:column if the text is damaged, is of a newer version, or has a
// kernel call that kernel::default_kernels() does not allow.
Graph read_graph_json(const std::string& file, std::string_view text);

// Returns the graph as text, with one node or one tensor on each line, in the order of their ids.
std::string write_graph_json(const Graph& graph);

}  // namespace doppler::graph
