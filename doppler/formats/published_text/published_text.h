// The text format of the published DOPPLER graphs; docs/formats/published-text.md describes it.
#pragma once

#include <string>
#include <string_view>

#include "doppler/formats/content.h"
#include "doppler/formats/imported.h"
#include "doppler/formats/saved_graph.h"
#include "doppler/graph/graph.h"

namespace doppler::formats {

// A cost in the file / this = seconds.
inline constexpr double kPublishedCostsPerSecond = 1e10;

bool is_published_text(const Content& content);
// Nodes "n0", "n1", … with one result each.
Imported read_published_text(const std::string& file, std::string_view text,
                             const ImportOptions& = {});

// The format has integers, one compute and one communication cost per node. Throws ParameterError
// where a node or a tensor that is read has no given time, or one too large for a 64-bit integer.
SavedGraph write_published_text(const graph::Graph& graph);

}  // namespace doppler::formats
