// Graph files of any format that this program reads.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "doppler/graph/graph.h"
#include "doppler/import/saved_graph.h"

namespace doppler::import {

enum class Format {
  kJson,           // our own; holds everything
  kPublishedText,  // the published DOPPLER code's
  kDot,            // Graphviz
};

// "json", "text" or "dot". Throws ParameterError for others.
Format format_by_name(std::string_view name);
std::string_view format_name(Format format);
// By the extension, .json, .txt, .dot or .gv; nothing for others.
std::optional<Format> format_of_path(const std::string& path);

// The format that the text claims to be in, by its first words. Throws InputError (without a place)
// where it is none of them.
Format sniff(std::string_view text);

// A graph that has no name of its own is named after the file. Throws InputError with the file and,
// where it has one, the place.
graph::Graph load_graph(const std::string& path, std::optional<Format> format = std::nullopt);

graph::Graph parse_graph(const std::string& file, std::string_view text, Format format);
SavedGraph format_graph(const graph::Graph& graph, Format format);

}  // namespace doppler::import
