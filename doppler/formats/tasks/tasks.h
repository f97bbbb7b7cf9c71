// Reading of task graphs of other projects, and reading and writing of the text format of the
// published DOPPLER graphs. docs/formats/import.md says what is read, assumed and ignored. All
// readers are as content.h describes, and all functions safe to call from several threads.
#pragma once

#include <string>
#include <string_view>

#include "doppler/formats/content.h"
#include "doppler/graph/graph.h"

namespace doppler::formats {

// --- DAGBench: its instances are those of SAGA, a task graph and a network each ---

bool is_dagbench(const Content& content);
Imported read_dagbench(const std::string& file, std::string_view text, const ImportOptions& = {});

// --- Microsoft's DNN partitioning benchmark (github msr-fiddle/dnn-partitioning) ---

bool is_msr(const Content& content);
Imported read_msr(const std::string& file, std::string_view text, const ImportOptions& = {});

// --- profiles of PipeDream: one line for each layer and one for each edge ---

bool is_pipedream(const Content& content);
Imported read_pipedream(const std::string& file, std::string_view text, const ImportOptions& = {});

// --- workflows in WfFormat, versions 1.0 to 1.6 (wfcommons.org) ---

bool is_wfformat(const Content& content);
Imported read_wfformat(const std::string& file, std::string_view text, const ImportOptions& = {});

// --- published DOPPLER graphs; docs/formats/published-text.md describes the format ---

// The costs in a file divided by this are seconds.
inline constexpr double kPublishedCostsPerSecond = 1e10;

bool is_published_text(const Content& content);
// Reads a graph whose nodes "n0", "n1", … have one result each.
Imported read_published_text(const std::string& file, std::string_view text,
                             const ImportOptions& = {});

// Returns the graph as text. The format has integers, one compute and one communication cost for
// each node. Throws ParameterError if a node, or a tensor that is read, has no given time or one
// too large for a 64-bit integer.
SavedGraph write_published_text(const graph::Graph& graph);

}  // namespace doppler::formats
