// dopp graph show | generate | convert
#include <optional>
#include <string>

#include "app/commands.h"
#include "app/graph_output.h"
#include "app/terminal.h"
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
  warn_of_ignored(request.ignored, "random");
  const Format format = output_format(request.output);
  ProgressLine progress("generating");
  const graph::Graph graph =
      graph::generate_random({.family = graph::family_by_name(request.family),
                              .nodes = static_cast<std::size_t>(request.nodes),
                              .ccr = request.ccr,
                              .seed = request.seed,
                              .mean_time = request.mean_time_seconds});
  write_graph(graph, request.output, format, progress);
}

void run(const GraphConvertRequest& request) {
  const Format format = output_format(request.output);
  ProgressLine progress("converting " + request.input);
  const graph::Graph graph = import::load_graph(request.input, named_format(request.from));
  write_graph(graph, request.output, format, progress);
}

}  // namespace doppler::app
