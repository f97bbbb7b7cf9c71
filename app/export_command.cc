// dopp export
#include <fmt/format.h>

#include <string>
#include <vector>

#include "app/commands.h"
#include "app/load.h"
#include "app/placed_run.h"
#include "app/terminal.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/export/export.h"
#include "doppler/schedule/placement_json.h"

namespace doppler::app {

void run(const ExportRequest& request) {
  const exporting::Target& target = exporting::target_by_name(request.target);
  check_output(request.output);
  const schedule::PlacementOrigin subject =
      schedule::read_placement_origin(request.placement, read_file(request.placement));
  const std::string graph = request.graph.empty() ? subject.graph : request.graph;
  MachineOptions machine = request.machine;
  if (machine.devices.empty()) machine.devices = subject.devices;
  if (graph.empty() || machine.devices.empty()) {
    throw InputError(fmt::format("{}: the placement does not name its {}: give it",
                                 request.placement, graph.empty() ? "graph" : "devices"));
  }
  ProgressLine progress("reading " + graph);
  const auto [problem, origin] = load_subject(graph, machine, progress);
  std::vector<std::string> warnings;
  const schedule::Placement placement = read_placement(request.placement, *problem, warnings);
  progress.say("writing");
  // Only the form that is a changed copy of the model needs its bytes.
  const std::string model = request.target == "onnx" ? read_file(graph) : std::string();
  const exporting::Exported exported = target.write({.problem = *problem,
                                                     .placement = placement,
                                                     .model_file = graph,
                                                     .model = model,
                                                     .options = machine.load.import});
  write_output(request.output, exported.bytes);
  progress.print_notes(exported.notes);
  progress.finish();
  if (request.output != kStandardOutput) print(fmt::format("wrote {}\n", request.output));
}

}  // namespace doppler::app
