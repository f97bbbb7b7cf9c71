// dopp graph show | generate | convert
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>

#include "app/commands.h"
#include "app/terminal.h"
#include "doppler/base/error.h"
#include "doppler/base/units.h"
#include "doppler/graph/generate/random.h"
#include "doppler/import/import.h"
#include "doppler/study/graph_report.h"

namespace doppler::app {
namespace {

using import::Format;

// A format named by the user, or none.
std::optional<Format> named_format(const std::string& name) {
  if (name.empty()) return std::nullopt;
  return import::format_by_name(name);
}

// The format to write: as named, else by the file's extension. A name without one (-, /dev/null)
// gets our own; an extension of something else must not hold it.
Format output_format(const std::string& name, const std::string& path) {
  if (!name.empty()) return import::format_by_name(name);
  if (const auto format = import::format_of_path(path)) return *format;
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension.empty()) return Format::kJson;
  throw ParameterError(
      fmt::format("{}: no graph format has the extension '{}'; use .json, .txt, .dot or .gv, or "
                  "name the format: json, text or dot",
                  path, extension));
}

// Writes the graph and says so; what the format could not hold is told as well.
void write_graph(const graph::Graph& graph, const std::string& path, Format format, bool json,
                 ProgressLine& progress) {
  const import::SavedGraph saved = import::format_graph(graph, format);
  progress.finish();
  write_output(path, saved.text);
  if (path == kStandardOutput) {
    for (const std::string& note : saved.notes) print_warning(note);
    return;
  }
  if (json) {
    print(study::graph_json(graph, path));
    return;
  }
  std::string text =
      fmt::format("wrote {}: {} nodes, {} edges\n", path, format_integer(graph.node_count()),
                  format_integer(graph.edge_count()));
  for (const std::string& note : saved.notes) text += fmt::format("note: {}\n", note);
  print(text);
}

}  // namespace

void run(const GraphShowRequest& request) {
  ProgressLine progress("reading " + request.graph);
  const graph::Graph graph = import::load_graph(request.graph, named_format(request.format));
  const std::string text = request.json ? study::graph_json(graph, request.graph)
                                        : study::graph_text(graph, request.graph);
  progress.finish();
  print(text);
}

void run(const GraphGenerateRequest& request) {
  const Format format = output_format(request.format, request.output);
  ProgressLine progress("generating");
  const graph::Graph graph =
      graph::generate_random({.family = graph::family_by_name(request.family),
                              .nodes = static_cast<std::size_t>(request.nodes),
                              .ccr = request.ccr,
                              .seed = request.seed,
                              .mean_time = request.mean_time_seconds});
  write_graph(graph, request.output, format, request.json, progress);
}

void run(const GraphConvertRequest& request) {
  const Format format = output_format(request.to, request.output);
  ProgressLine progress("converting " + request.input);
  const graph::Graph graph = import::load_graph(request.input, named_format(request.from));
  write_graph(graph, request.output, format, request.json, progress);
}

}  // namespace doppler::app
