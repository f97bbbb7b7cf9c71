#include "app/graph_output.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "doppler/base/error.h"
#include "doppler/base/units.h"
#include "doppler/render/graph_text.h"

namespace doppler::app {

using formats::Format;

void warn_of_ignored(const std::vector<std::string>& options, const std::string& sort) {
  for (const std::string& option : options) {
    print_warning(fmt::format("--{} means nothing for {}", option, sort));
  }
}

const Format& output_format(const GraphOutput& output) {
  if (!output.format.empty()) return formats::written_format_by_name(output.format);
  if (const Format* format = formats::written_format_of_path(output.file)) return *format;
  const std::string extension = std::filesystem::path(output.file).extension().string();
  if (extension.empty()) return formats::format_by_name("json");
  throw ParameterError(
      fmt::format("{}: no graph format has the extension '{}'; use .json, .txt, .dot or .gv, or "
                  "name the format: {}",
                  output.file, extension, formats::format_names(true)));
}

void write_graph(const graph::Graph& graph, const GraphOutput& output, const Format& format,
                 ProgressLine& progress, const std::function<void(JsonWriter&)>& add_keys) {
  const formats::SavedGraph saved = format.write(graph);
  progress.finish();
  write_output(output.file, saved.text);
  if (output.file == kStandardOutput || output.json) {
    for (const std::string& note : saved.notes) print_warning(note);
    if (output.json) print(render::graph_json(graph, output.file, add_keys));
    return;
  }
  std::string text =
      fmt::format("wrote {}: {} nodes, {} edges\n", output.file, format_integer(graph.node_count()),
                  format_integer(graph.edge_count()));
  for (const std::string& note : saved.notes) text += fmt::format("note: {}\n", note);
  print(text);
}

}  // namespace doppler::app
