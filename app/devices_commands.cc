// dopp devices list | show
#include <fmt/format.h>

#include "app/commands.h"
#include "app/terminal.h"
#include "doppler/base/json_writer.h"
#include "doppler/device/spec.h"
#include "doppler/device/topology_json.h"
#include "doppler/report/wrap.h"
#include "doppler/study/topology_report.h"

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
    text += report::wrap(fmt::format("{:<14} ", preset.spec), preset.description);
  }
  print(text + "\nFILE.json      a topology file (docs/formats/topology.md)\n");
}

void run(const DevicesShowRequest& request) {
  const device::Topology topology = device::topology_from_spec(request.devices);
  print(request.json ? device::write_topology_json(topology) : study::topology_text(topology));
}

}  // namespace doppler::app
