// dopp graph show | generate | convert
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>

#include "app/commands.h"
#include "app/terminal.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/units.h"
#include "doppler/graph/generate/random.h"
#include "doppler/import/load.h"
#include "doppler/study/graph_report.h"

namespace doppler::app {
namespace {

// A format named by the user, or none.
std::optional<import::Format> named_format(const std::string& name) {
  if (name.empty()) return std::nullopt;
  return import::format_by_name(name);
}

// The format to write: as named, else by the file's extension, else our own.
import::Format output_format(const std::string& name, const std::string& path) {
  if (!name.empty()) return import::format_by_name(name);
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".dot" || extension == ".gv") return import::Format::kDot;
  if (extension == ".txt") return import::Format::kText;
  return import::Format::kJson;
}

void write_graph(const graph::Graph& graph, const std::string& path, import::Format format) {
  write_file(path, import::format_graph(graph, format));
}

// What was written, in one line or as the object of `graph show --json`.
void report_written(const graph::Graph& graph, const std::string& path, bool json) {
  if (json) {
    print(study::graph_json(graph, path));
    return;
  }
  print(fmt::format("wrote {}: {} nodes, {} edges\n", path, format_integer(graph.node_count()),
                    format_integer(graph.edge_count())));
}

}  // namespace

void run(const GraphShowRequest& request) {
  const ProgressLine progress("reading " + request.graph);
  const graph::Graph graph = import::load_graph(request.graph, named_format(request.format));
  print(request.json ? study::graph_json(graph, request.graph)
                     : study::graph_text(graph, request.graph));
}

void run(const GraphGenerateRequest& request) {
  const import::Format format = output_format(request.format, request.output);
  const ProgressLine progress("generating");
  const graph::Graph graph =
      graph::generate_random({.family = graph::family_by_name(request.family),
                              .nodes = static_cast<std::size_t>(request.nodes),
                              .ccr = request.ccr,
                              .seed = request.seed});
  write_graph(graph, request.output, format);
  report_written(graph, request.output, request.json);
}

void run(const GraphConvertRequest& request) {
  const import::Format format = output_format(request.to, request.output);
  const ProgressLine progress("converting " + request.input);
  const graph::Graph graph = import::load_graph(request.input, named_format(request.from));
  write_graph(graph, request.output, format);
  report_written(graph, request.output, request.json);
}

}  // namespace doppler::app
