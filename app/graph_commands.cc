// dopp graph show | generate | convert
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands.h"
#include "app/graph_output.h"
#include "app/terminal.h"
#include "doppler/formats/formats.h"
#include "doppler/graph/generate/random.h"
#include "doppler/render/graph_text.h"

namespace doppler::app {
namespace {

// What a reader dropped or guessed, for the JSON about its graph.
std::function<void(JsonWriter&)> notes_key(const std::vector<std::string>& notes) {
  return [&notes](JsonWriter& json) {
    json.key("notes").begin_array();
    for (const std::string& note : notes) json.value(std::string_view(note));
    json.end_array();
  };
}

}  // namespace

void run(const GraphShowRequest& request) {
  ProgressLine progress("reading " + request.graph);
  const formats::Imported imported = formats::load(request.graph, request.load);
  progress.print_notes(imported.notes);
  const std::string text =
      request.json ? render::graph_json(imported.graph, request.graph, notes_key(imported.notes))
                   : render::graph_text(imported.graph, request.graph);
  progress.finish();
  print(text);
}

void run(const GraphGenerateRequest& request) {
  warn_of_ignored(request.ignored, "random");
  const formats::Format& format = output_format(request.output);
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
  const formats::Format& format = output_format(request.output);
  ProgressLine progress("converting " + request.input);
  const formats::Imported imported = formats::load(request.input, request.load);
  progress.print_notes(imported.notes);
  write_graph(imported.graph, request.output, format, progress, notes_key(imported.notes));
  if (request.output.json || request.output.file == kStandardOutput) return;
  print(render::graph_totals_text(imported.graph));
}

}  // namespace doppler::app
