// Graphs in the DOT language of Graphviz; docs/formats/dot.md says which attributes mean what.
#pragma once

#include <string>
#include <string_view>

#include "doppler/graph/graph.h"
#include "doppler/import/saved_graph.h"

namespace doppler::import {

// `file` names the source in errors and names the graph where the text does not. Throws InputError
// with file:line:column.
graph::Graph read_dot(const std::string& file, std::string_view text);

SavedGraph write_dot(const graph::Graph& graph);

}  // namespace doppler::import
