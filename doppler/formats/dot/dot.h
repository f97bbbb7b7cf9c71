// Graphs in the DOT language of Graphviz; docs/formats/dot.md says which attributes mean what.
#pragma once

#include <string>
#include <string_view>

#include "doppler/formats/content.h"
#include "doppler/graph/graph.h"

namespace doppler::formats {

bool is_dot(const Content& content);
Imported read_dot(const std::string& file, std::string_view text, const ImportOptions& = {});

// `text` as a string of the language: in double quotes, with those and backslashes in it escaped.
std::string dot_quoted(std::string_view text);

SavedGraph write_dot(const graph::Graph& graph);

}  // namespace doppler::formats
