#include "app/graph_output.h"

#include <fmt/format.h>

#include <filesystem>

#include "doppler/base/error.h"
#include "doppler/base/units.h"
#include "doppler/study/graph_report.h"

namespace doppler::app {

using import::Format;

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

void write_graph(const graph::Graph& graph, const std::string& path, Format format, bool json,
                 ProgressLine& progress) {
  const import::SavedGraph saved = import::format_graph(graph, format);
  progress.finish();
  write_output(path, saved.text);
  if (path == kStandardOutput || json) {
    for (const std::string& note : saved.notes) print_warning(note);
    if (json) print(study::graph_json(graph, path));
    return;
  }
  std::string text =
      fmt::format("wrote {}: {} nodes, {} edges\n", path, format_integer(graph.node_count()),
                  format_integer(graph.edge_count()));
  for (const std::string& note : saved.notes) text += fmt::format("note: {}\n", note);
  print(text);
}

}  // namespace doppler::app
