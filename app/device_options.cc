// dopp devices …
#include <memory>

#include "app/command_line.h"
#include "app/option_kinds.h"
#include "doppler/device/spec.h"

namespace doppler::app {

void add_device_commands(CommandLine& line) {
  const auto list_request = std::make_shared<DevicesListRequest>();
  const auto show_request = std::make_shared<DevicesShowRequest>();
  const auto probe_request = std::make_shared<DevicesProbeRequest>();
  CLI::App* group = line.app().add_subcommand("devices", "Presets, and topologies as understood");
  group->require_subcommand(1);
  CLI::App* list = line.add(*group, "list", "List the presets", "  dopp devices list",
                            [list_request] { return *list_request; });
  add_json(*list, list_request->json);
  add_unused_seed(*list);
  CLI::App* show =
      line.add(*group, "show", "Print a topology as understood",
               "  dopp devices show 8xV100\n  dopp devices show 2n4xA100 --json > my.json",
               [show_request] { return *show_request; });
  show->add_option("SPEC", show_request->devices, kDevicesHelp)->required();
  add_json(*show, show_request->json);
  add_unused_seed(*show);
  CLI::App* probe =
      line.add(*group, "probe", "Measure this machine, for cpu:N",
               "  dopp devices probe\n  dopp devices probe --quick --devices cpu:2 -o cpu2.json",
               [probe_request] {
                 check_outputs({{"--output", probe_request->output}}, probe_request->json);
                 return *probe_request;
               });
  probe
      ->add_option_function<std::string>(
          "--devices",
          [probe_request](const std::string& text) {
            const auto count = device::cpu_count(text);
            if (!count || *count == 0) {
              throw ParameterError(fmt::format(
                  "--devices: '{}' is not cpu:N, and only this machine can be measured", text));
            }
            probe_request->devices = *count;
          },
          "As many devices as are to be busy at once (default: all CPUs)")
      ->type_name("cpu:N");
  probe->add_flag("--quick", probe_request->quick, "A quarter of the time, less precise");
  add_output(*probe, "-o,--output", probe_request->output,
             "Write the topology to this file (default: where cpu:N finds it)");
  add_json(*probe, probe_request->json);
  add_unused_seed(*probe);
}

}  // namespace doppler::app
