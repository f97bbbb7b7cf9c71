// Reading and writing of graph files in any format that this program knows, with the table of
// formats. All functions are safe to call from several threads.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/formats/content.h"
#include "doppler/graph/graph.h"

namespace doppler::formats {

// An entry in the table of formats.
struct Format {
  std::string_view name;
  std::string_view summary;
  // Returns whether the content is in this format. The first format of the table that says so reads
  // the file.
  bool (*recognises)(const Content& content);
  Imported (*read)(const std::string& file, std::string_view bytes, const ImportOptions& options);
  SavedGraph (*write)(const graph::Graph& graph) = nullptr;  // null: it is only read
  bool binds_dimensions = false;                             // uses ImportOptions::dimensions
};

// Returns the table of all formats; docs/formats/import.md describes what each reads.
std::span<const Format> formats();
// Returns the format of this name. Throws ParameterError with the known names if there is none.
const Format& format_by_name(std::string_view name);
// Returns the format of this name. Throws ParameterError if there is none or it is only read.
const Format& written_format_by_name(std::string_view name);
// Returns the format to write for the extension .json, .txt, .dot or .gv; null for others.
const Format* written_format_of_path(const std::string& path);
// Returns the names of all formats, or of those that are written, as in "json, dot, text".
std::string format_names(bool written = false);

// Returns the format that the content is in. Throws InputError, without a position, if it is in
// none.
const Format& recognise(std::string_view bytes);

struct LoadOptions {
  std::string format = {};  // name of the format; empty: the format is recognised
  ImportOptions import = {};
};

// The content of a file, unpacked if it was packed (see base/archive.h). Of an archive with several
// files it is the largest one that is a graph.
struct GraphFile {
  std::string name;  // the path, followed by the name inside the archive
  std::string bytes;
  std::vector<std::string> notes = {};  // names the files of the archive that were left out
};
// Reads and unpacks a file. Throws InputError if that fails.
GraphFile read_graph_file(const std::string& path, const LoadOptions& options = {});
// Unpacks the content of the file `path`.
GraphFile unpack_graph(const std::string& path, std::string bytes, const LoadOptions& options = {});

// Reads a graph from a file, which may be packed. A graph without a name of its own is named after
// the file. Throws InputError with the file and, if known, the position; ParameterError if there is
// no format options.format.
Imported load(const std::string& path, const LoadOptions& options = {});
// Reads a graph from the content of a file that is not packed.
Imported parse(const std::string& file, std::string_view bytes, const LoadOptions& options = {});
// Reads a graph from a file and drops the notes.
graph::Graph load_graph(const std::string& path, const LoadOptions& options = {});

// Returns the graph as text of the format of this name. Throws ParameterError if there is no such
// format or it is only read.
SavedGraph format_graph(const graph::Graph& graph, std::string_view format);

}  // namespace doppler::formats
