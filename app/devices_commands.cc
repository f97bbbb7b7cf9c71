// dopp devices list | show | probe
#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "app/commands.h"
#include "app/terminal.h"
#include "doppler/base/error.h"
#include "doppler/base/json_writer.h"
#include "doppler/device/spec.h"
#include "doppler/device/topology_json.h"
#include "doppler/exec/probe/probe.h"
#include "doppler/render/machine_text.h"
#include "doppler/render/table.h"

namespace doppler::app {

void run(const DevicesListRequest& request) {
  const std::vector<device::PresetExample> presets = device::preset_examples();
  if (request.json) {
    JsonWriter json;
    json.begin_object().key("presets").begin_array();
    for (const device::PresetExample& preset : presets) {
      json.begin_object(JsonLayout::kCompact)
          .field("spec", preset.spec)
          .field("description", preset.description)
          .end_object();
    }
    print(json.end_array().end_object().take());
    return;
  }
  std::string text = "Any number of devices works; these are examples.\n\n";
  for (const device::PresetExample& preset : presets) {
    text += render::wrap(fmt::format("{:<14} ", preset.spec), preset.description);
  }
  print(text + "\nFILE.json      a topology file (docs/formats/topology.md)\n");
}

void run(const DevicesShowRequest& request) {
  const device::Topology topology = device::topology_from_spec(request.devices);
  print(request.json ? device::write_topology_json(topology) : render::topology_text(topology));
}

void run(const DevicesProbeRequest& request) {
  std::string file = request.output;
  if (file.empty()) {
    const auto own = device::probe_file_path();
    if (!own) {
      throw ParameterError(
          "there is no place for the result: give -o FILE, or set HOME or DOPPLER_PROBE");
    }
    file = *own;
    std::error_code ignored;  // what is wrong shows below
    std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
  }
  check_output(file);
  ProgressLine line("measuring this machine");
  const exec::ProbeResult result = exec::probe_machine(
      {.devices = request.devices,
       .quick = request.quick,
       .progress = [&](const std::string& what, double share) {
         line.say(fmt::format("measuring {}: {:.0f} % done", what, 100.0 * share));
       }});
  line.finish();
  write_output(file, device::write_topology_json(device::Topology(result.topology)));
  if (file == kStandardOutput) return;
  print(request.json ? render::probe_json(result, file) : render::probe_text(result, file));
}

}  // namespace doppler::app
