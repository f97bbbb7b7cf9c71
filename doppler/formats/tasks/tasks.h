// The instances of DAGBench, which are those of SAGA, a task graph and a network.
// docs/formats/import.md says what is read, assumed and ignored.
#pragma once

#include <string>
#include <string_view>

#include "doppler/formats/content.h"
#include "doppler/graph/graph.h"

namespace doppler::formats {

bool is_dagbench(const Content& content);
Imported read_dagbench(const std::string& file, std::string_view text, const ImportOptions& = {});

// The instances of Microsoft's DNN partitioning benchmark (github msr-fiddle/dnn-partitioning).
// docs/formats/import.md says what is read, assumed and ignored.

bool is_msr(const Content& content);
Imported read_msr(const std::string& file, std::string_view text, const ImportOptions& = {});

// The profiles of PipeDream, a line per layer, a line per edge.
// docs/formats/import.md says what is read, assumed and ignored.

bool is_pipedream(const Content& content);
Imported read_pipedream(const std::string& file, std::string_view text, const ImportOptions& = {});

// Workflows in WfFormat, versions 1.0 to 1.6 (wfcommons.org).
// docs/formats/import.md says what is read, assumed and ignored.

bool is_wfformat(const Content& content);
Imported read_wfformat(const std::string& file, std::string_view text, const ImportOptions& = {});

// The text format of the published DOPPLER graphs; docs/formats/published-text.md describes it.

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
