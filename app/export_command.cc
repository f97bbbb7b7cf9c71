// dopp export
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "app/commands.h"
#include "app/placement_source.h"
#include "app/terminal.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/export/export.h"

namespace doppler::app {

void run(const ExportRequest& request) {
  const exporting::Target& target = exporting::target_by_name(request.target);
  check_output(request.output);
  ProgressLine progress("reading " + request.placement);
  std::vector<std::string> warnings;
  const SourcedPlacement placed =
      PlacementSource(request.graph, request.machine).read(request.placement, warnings);
  for (const std::string& warning : warnings) print_warning(warning);
  // The options could not know what the placement names.
  for (const std::string& input : {placed.graph_path, placed.devices}) {
    std::error_code missing;
    if (!std::filesystem::equivalent(request.output, input, missing)) continue;
    throw ParameterError(
        fmt::format("--output: '{}' is read, and would be replaced", request.output));
  }
  progress.say("writing");
  // Only the form that is a changed copy of the model needs its bytes.
  const std::string model = request.target == "onnx" ? read_file(placed.graph_path) : std::string();
  const exporting::Exported exported = target.write({.problem = *placed.problem,
                                                     .placement = placed.placement,
                                                     .model_file = placed.graph_path,
                                                     .model = model,
                                                     .options = request.machine.load.import});
  write_output(request.output, exported.bytes);
  progress.print_notes(exported.notes);
  progress.finish();
  if (request.output != kStandardOutput) print(fmt::format("wrote {}\n", request.output));
}

}  // namespace doppler::app
