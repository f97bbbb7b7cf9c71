// Reading and writing of graphs in the DOT language of Graphviz; docs/formats/dot.md says which
// attributes mean what. The functions are safe to call from several threads.
#pragma once

#include <string>
#include <string_view>

#include "doppler/formats/content.h"
#include "doppler/graph/graph.h"

namespace doppler::formats {

bool is_dot(const Content& content);
// Reads a graph as content.h says of all readers.
Imported read_dot(const std::string& file, std::string_view text, const ImportOptions& = {});

SavedGraph write_dot(const graph::Graph& graph);

// Returns `text` as a string of the language: in double quotes, with double quotes and backslashes
// in it escaped.
std::string dot_quoted(std::string_view text);

}  // namespace doppler::formats
