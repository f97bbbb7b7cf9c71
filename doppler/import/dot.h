// Graphs in the DOT language of Graphviz; docs/formats/dot.md says which attributes mean what.
#pragma once

#include <string>
#include <string_view>

#include "doppler/graph/graph.h"
#include "doppler/import/content.h"
#include "doppler/import/imported.h"
#include "doppler/import/saved_graph.h"

namespace doppler::import {

bool is_dot(const Content& content);
Imported read_dot(const std::string& file, std::string_view text, const ImportOptions& = {});

SavedGraph write_dot(const graph::Graph& graph);

}  // namespace doppler::import
