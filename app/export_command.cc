// dopp export
#include <fmt/format.h>

#include <string>
#include <vector>

#include "app/commands.h"
#include "app/placement_source.h"
#include "app/terminal.h"
#include "doppler/base/error.h"
#include "doppler/base/json_writer.h"
#include "doppler/export/export.h"
#include "doppler/formats/formats.h"

namespace doppler::app {

namespace {

std::string export_json(const ExportRequest& request, const SourcedPlacement& placed,
                        const exporting::Exported& exported) {
  JsonWriter json;
  json.begin_object().field("output", request.output).field("form", request.target);
  json.field("bytes", exported.bytes.size()).field("graph", placed.graph_path);
  json.field("devices", placed.problem->topology().name()).key("notes").begin_array();
  for (const std::string& note : exported.notes) json.value(note);
  return json.end_array().end_object().take();
}

}  // namespace

void run(const ExportRequest& request) {
  const exporting::Target& target = exporting::target_by_name(request.target);
  check_output(request.output);
  ProgressLine progress("reading " + request.placement);
  std::vector<std::string> warnings;
  const SourcedPlacement placed =
      PlacementSource(request.graph, request.machine, PlacementSource::FileConstraints::kIgnored)
          .read(request.placement, warnings);
  for (const std::string& warning : warnings) print_warning(warning);
  check_not_read(request.output, {placed.graph_path, placed.devices});
  progress.say("writing");
  // Only the form that is a changed copy of the model needs its bytes.
  formats::GraphFile model;
  if (request.target == "onnx") model = formats::read_graph_file(placed.graph_path, placed.load);
  const exporting::Exported exported = target.write({.problem = *placed.problem,
                                                     .placement = placed.placement,
                                                     .model_file = model.name,
                                                     .model = model.bytes,
                                                     .options = placed.load.import});
  write_output(request.output, exported.bytes);
  progress.print_notes(exported.notes);
  progress.finish();
  if (request.output == kStandardOutput) return;
  print(request.json ? export_json(request, placed, exported)
                     : fmt::format("wrote {}\n", request.output));
}

}  // namespace doppler::app
