// Graph files of any format that this program reads. Thread safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/formats/content.h"
#include "doppler/graph/graph.h"

namespace doppler::formats {

struct Format {
  std::string_view name;
  std::string_view summary;
  // By what the file holds; the first of the table that says yes reads it.
  bool (*recognises)(const Content& content);
  Imported (*read)(const std::string& file, std::string_view bytes, const ImportOptions& options);
  SavedGraph (*write)(const graph::Graph& graph) = nullptr;  // null: it is only read
  bool binds_dimensions = false;                             // takes ImportOptions::dimensions
};

// All of them; docs/formats/import.md describes what each reads.
std::span<const Format> formats();
// Throws ParameterError for a name that is none, with those that are.
const Format& format_by_name(std::string_view name);
// The same among those that are written.
const Format& written_format_by_name(std::string_view name);
// By the extension, .json, .txt, .dot or .gv, of those that are written; null for others.
const Format* written_format_of_path(const std::string& path);
// "json, text, dot": the names, of all or of those that are written.
std::string format_names(bool written = false);

// The format that the content is in. Throws InputError (without a place) where it is none of them.
const Format& recognise(std::string_view bytes);

struct LoadOptions {
  std::string format = {};  // by name; empty: as recognised
  ImportOptions import = {};
};

// A file's content, unpacked (archive.h): of several that it packs the largest that is a graph.
struct GraphFile {
  std::string name;  // the path, and inside it where it was packed
  std::string bytes;
  std::vector<std::string> notes = {};  // what was left out
};
// Throws InputError where the file cannot be read or unpacked.
GraphFile read_graph_file(const std::string& path, const LoadOptions& options = {});
// The same of the file's bytes.
GraphFile unpack_graph(const std::string& path, std::string bytes, const LoadOptions& options = {});

// Reads a file, also one that is packed (archive.h). A graph that has no name of its own is named
// after the file. Throws InputError with the file and, where it has one, the place.
Imported load(const std::string& path, const LoadOptions& options = {});
// The same of a file's content.
Imported parse(const std::string& file, std::string_view bytes, const LoadOptions& options = {});
// For callers that need only the graph.
graph::Graph load_graph(const std::string& path, const LoadOptions& options = {});

// Throws ParameterError where the format is only read.
SavedGraph format_graph(const graph::Graph& graph, std::string_view format);

}  // namespace doppler::formats
