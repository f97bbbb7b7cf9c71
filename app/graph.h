// Declares the commands of `dopp graph`, and what they share: writing a graph.
#pragma once

#include <functional>
#include <string>

#include "app/command_line.h"
#include "app/terminal.h"
#include "doppler/base/json_writer.h"
#include "doppler/formats/formats.h"
#include "doppler/graph/graph.h"

namespace doppler::app {

// Says where a graph is written, and whether the report about it is JSON.
struct GraphOutput {
  std::string file;
  std::string format;  // empty: by the file's name
  bool json = false;
};

// Returns the format to write: the one that was named, else that of the file's extension. A name
// without an extension (-, /dev/null) gets our own. Throws ParameterError for the extension of
// something else, which must not hold a graph.
const formats::Format& output_format(const GraphOutput& output);

// Adds keys to what is said of a graph in JSON, given the notes on what its format cannot hold.
using AddKeys = std::function<void(JsonWriter&, const std::vector<std::string>& dropped)>;

// Writes the graph and says so; what the format cannot hold is noted on standard error.
void write_graph(const graph::Graph& graph, const GraphOutput& output,
                 const formats::Format& format, ProgressLine& progress,
                 const AddKeys& add_keys = {});

// These add `dopp graph generate` and `dopp graph compile` (graph_compile.cc).
void add_generate_command(CommandLine& line, CLI::App& group);
void add_compile_command(CommandLine& line, CLI::App& group);

}  // namespace doppler::app
