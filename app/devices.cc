// dopp devices list, show and probe.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "app/command_line.h"
#include "app/option_groups.h"
#include "app/terminal.h"
#include "doppler/base/error.h"
#include "doppler/device/spec.h"
#include "doppler/exec/probe/probe.h"
#include "doppler/render/machine_text.h"
#include "doppler/render/table.h"

namespace doppler::app {
namespace {

constexpr std::size_t kNarrow = 80;  // columns of the narrowest usual terminal

struct ShowDevicesRequest {
  std::string devices;
  bool json = false;
};

struct ProbeRequest {
  std::size_t devices = 0;  // 0: as many as there are CPUs
  bool quick = false;
  std::string output;  // empty for the user's own file
  bool json = false;
};

void list_presets(bool as_json) {
  const std::vector<device::PresetExample> presets = device::preset_examples();
  if (as_json) {
    print(render::catalogue_json(presets));
    return;
  }
  std::string text =
      "Peaks in Tflop/s: f32 outside matrix units, dense products of 16 and 8 bits.\n\n";
  text += render::catalogue_text();
  text += "\nAny number of devices works; these are examples.\n\n";
  for (const device::PresetExample& preset : presets) {
    text += render::wrap(fmt::format("{:<16} ", preset.spec), preset.description, kNarrow);
  }
  print(text + "\nFILE.json        a topology file (docs/formats/topology.md)\n");
}

void run(const ShowDevicesRequest& request) {
  const device::Topology topology = device::topology_from_spec(request.devices);
  print(request.json ? device::write_topology_json(topology) : render::topology_text(topology));
}

// Returns the file where cpu:N looks for what was measured, with its folder made.
std::string own_probe_file() {
  const auto own = device::probe_file_path();
  if (!own) {
    throw ParameterError(
        "there is no place for the result: give -o FILE, or set HOME or DOPPLER_PROBE");
  }
  std::error_code ignored;  // what is wrong shows when the file is written
  std::filesystem::create_directories(std::filesystem::path(*own).parent_path(), ignored);
  return *own;
}

void run(const ProbeRequest& request) {
  const std::string file = request.output.empty() ? own_probe_file() : request.output;
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

std::size_t read_cpu_count(const std::string& text) {
  const auto count = device::cpu_count(text);
  if (!count || *count == 0) {
    throw ParameterError(
        fmt::format("--devices: '{}' is not cpu:N, and only this machine can be measured", text));
  }
  return *count;
}

void add_list(CommandLine& line, CLI::App& group) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* list = line.add(group, "list", "List the devices that are known, and presets",
                            "  dopp devices list", [json] { list_presets(*json); });
  add_json(*list, *json);
  add_unused_seed(*list);
}

void add_show_devices(CommandLine& line, CLI::App& group) {
  const auto request = std::make_shared<ShowDevicesRequest>();
  CLI::App* show = line.add(group, "show", "Print a topology as understood",
                            "  dopp devices show 8xV100\n  dopp devices show 2xRTX4090+1xCPU\n  "
                            "dopp devices show 2n4xA100@100Gb --json > my.json",
                            [request] { run(*request); });
  add_text(*show, "SPEC", request->devices, kDevicesHelp).required();
  add_json(*show, request->json);
  add_unused_seed(*show);
}

void add_probe(CommandLine& line, CLI::App& group) {
  const auto request = std::make_shared<ProbeRequest>();
  CLI::App* probe = line.add(
      group, "probe", "Measure this machine, for cpu:N",
      "  dopp devices probe\n  dopp devices probe --quick --devices cpu:2 -o cpu2.json", [request] {
        check_outputs({{"--output", request->output}}, request->json);
        run(*request);
      });
  add_text(
      *probe, "--devices",
      [request](const std::string& text) { request->devices = read_cpu_count(text); },
      "As many devices as are to be busy at once (default: all CPUs)", "cpu:N");
  add_flag(*probe, "--quick", request->quick, "A quarter of the time, less precise");
  add_output(*probe, "-o,--output", request->output,
             "Write the topology to this file (default: where cpu:N finds it)");
  add_json(*probe, request->json);
  add_unused_seed(*probe);
}

}  // namespace

void add_devices_commands(CommandLine& line) {
  CLI::App* group = line.add_group("devices", "Presets, and topologies as understood");
  add_list(line, *group);
  add_show_devices(line, *group);
  add_probe(line, *group);
}

}  // namespace doppler::app
