// dopp export.
#include <memory>

#include "app/command_line.h"
#include "app/option_kinds.h"
#include "doppler/export/export.h"

namespace doppler::app {

void add_export_command(CommandLine& line) {
  const auto request = std::make_shared<ExportRequest>();
  CLI::App* command = line.add(
      line.app(), "export", "Write a placement as another tool reads it",
      "  dopp place model.onnx --devices 4xA100 -o placement.json\n"
      "  dopp export placement.json --to onnx -o placed.onnx\n"
      "  dopp export placement.json --to torch -o device_map.json\n"
      "  dopp export placement.json model.onnx --dim batch=8 --to dot -o placed.dot",
      [request] {
        exporting::target_by_name(request->target);  // a slip shows before any file is read
        check_outputs({{"--output", request->output}}, request->json,
                      {request->graph, request->placement}, request->machine);
        return *request;
      });
  std::string forms;
  for (const exporting::Target& target : exporting::targets()) {
    forms += fmt::format("{}{}", forms.empty() ? "" : "|", target.name);
  }
  command->add_option("PLACEMENT", request->placement, "Placement file")->required();
  command->add_option("GRAPH", request->graph, "Graph file (default: the one the placement names)")
      ->check(not_empty());
  command->add_option("--to", request->target, "Form to write")->type_name(forms)->required();
  add_known_machine(*command, request->machine);
  add_output(*command, "-o,--output", request->output, "Write to this file")->required();
  add_unused_seed(*command);
  add_json(*command, request->json);
}

}  // namespace doppler::app
