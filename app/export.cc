// dopp export.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "app/option_groups.h"
#include "app/subject.h"
#include "app/terminal.h"
#include "doppler/api/placement_source.h"
#include "doppler/base/json_writer.h"
#include "doppler/export/export.h"
#include "doppler/formats/formats.h"

namespace doppler::app {
namespace {

struct ExportRequest {
  api::ProblemSource problem;  // what it leaves open is as the placement says
  std::string placement;
  std::string target;
  std::string output;
  bool json = false;
};

std::string export_json(const ExportRequest& request, const api::SourcedPlacement& placed,
                        const exporting::Exported& exported) {
  JsonWriter json;
  json.begin_object().field("output", request.output).field("form", request.target);
  json.field("bytes", exported.bytes.size()).field("graph", placed.graph_path);
  json.field("devices", placed.problem->topology().name()).key("notes").begin_array();
  for (const std::string& note : exported.notes) json.value(note);
  return json.end_array().end_object().take();
}

void run(const ExportRequest& request) {
  // A slip in the form's name shows before any file is read.
  const exporting::Target& target = exporting::target_by_name(request.target);
  check_outputs({{"--output", request.output}}, request.json, {request.placement}, request.problem);
  check_output(request.output);
  ProgressLine progress("reading " + request.placement);
  std::vector<std::string> warnings;
  api::PlacementSource source(request.problem, api::PlacementSource::FileConstraints::kIgnored);
  const api::SourcedPlacement placed = read_sourced(source, request.placement, warnings);
  print_warnings(warnings);
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

}  // namespace

void add_export_command(CommandLine& line) {
  const auto request = std::make_shared<ExportRequest>();
  CLI::App* command =
      line.add(line.app(), "export", "Write a placement as another tool reads it",
               "  dopp place model.onnx --devices 4xA100 -o placement.json\n"
               "  dopp export placement.json --to onnx -o placed.onnx\n"
               "  dopp export placement.json --to torch -o device_map.json\n"
               "  dopp export placement.json model.onnx --dim batch=8 --to dot -o placed.dot",
               [request] { run(*request); });
  std::string forms;
  for (const exporting::Target& target : exporting::targets()) {
    forms += fmt::format("{}{}", forms.empty() ? "" : "|", target.name);
  }
  add_text(*command, "PLACEMENT", request->placement, "Placement file").required();
  add_text(*command, "GRAPH", request->problem.graph,
           "Graph file (default: the one the placement names)")
      .not_empty();
  add_text(*command, "--to", request->target, "Form to write").type_name(forms).required();
  add_known_machine(*command, request->problem);
  add_output(*command, "-o,--output", request->output, "Write to this file").required();
  add_unused_seed(*command);
  add_json(*command, request->json);
}

}  // namespace doppler::app
