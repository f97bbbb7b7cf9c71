#include "app/placed_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "app/terminal.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/device/spec.h"
#include "doppler/render/perfetto.h"
#include "doppler/render/problem_text.h"
#include "doppler/schedule/placement.h"

namespace doppler::app {

schedule::PlacementOrigin origin_of(const cost::Problem& problem, const std::string& graph,
                                    const MachineOptions& machine) {
  schedule::PlacementOrigin origin = schedule::origin_of(problem, graph, machine.devices);
  origin.graph_format = machine.load.format;
  origin.dimensions = machine.load.import.dimensions;
  for (const api::FileRules& file : machine.rules_of_files) origin.constraints.add(file.rules);
  origin.constraints.add(machine.rules);
  return origin;
}

schedule::PlacementOrigin read_origin(const std::string& placement) {
  return schedule::read_placement_origin(placement, read_file(placement));
}

void load_as_placed(const std::string& placement, const schedule::PlacementOrigin& origin,
                    const std::string& graph, formats::LoadOptions& load) {
  const auto file_name = [](const std::string& path) {
    return std::filesystem::path(path).filename();
  };
  if (load.format.empty() && !origin.graph_format.empty() &&
      file_name(graph) == file_name(origin.graph)) {
    try {
      formats::format_by_name(origin.graph_format);
    } catch (const ParameterError& error) {
      throw InputError(fmt::format("{}: {}", placement, error.what()), error.hint());
    }
    load.format = origin.graph_format;
  }
  for (const auto& [name, size] : origin.dimensions) load.import.dimensions.emplace(name, size);
}

namespace {

// Whether these devices (empty: its own) are those of the placement, however they are written.
bool is_machine_of(const schedule::PlacementOrigin& origin, const std::string& devices) {
  if (devices.empty() || devices == origin.devices) return true;
  if (!origin.topology_hash || devices == api::kDevicesOfFile) return false;
  return device::topology_from_spec(devices).hash() == *origin.topology_hash;
}

}  // namespace

void constrain_as_placed(const std::string& placement, const schedule::PlacementOrigin& origin,
                         MachineOptions& machine, std::vector<std::string>& warnings) {
  if (origin.constraints.empty()) return;
  if (is_machine_of(origin, machine.devices)) {
    machine.rules_of_files.insert(machine.rules_of_files.begin(), {placement, origin.constraints});
  } else {
    warnings.push_back("the constraints of the placement are left out on other devices");
  }
}

schedule::Placement read_placement(const std::string& path, const cost::Problem& problem,
                                   std::vector<std::string>& warnings, bool same_graph) {
  schedule::PlacementFile file =
      schedule::read_placement_json(path, read_file(path), problem, warnings);
  if (same_graph &&
      file.origin.graph_hash.value_or(problem.graph().hash()) != problem.graph().hash()) {
    throw InputError(
        fmt::format("{}: the placement was made for another graph ({}): place this one first", path,
                    file.origin.graph));
  }
  schedule::Placement placement = std::move(file.placement);
  try {
    schedule::check_placement(problem, placement);
  } catch (const InfeasibleError& error) {
    throw InfeasibleError(fmt::format("{}: {}", path, error.what()));
  }
  return placement;
}

void show_run(const cost::Problem& problem, const RunOutput& output,
              const schedule::Timeline& timeline, const std::string& text_or_json) {
  if (!output.trace.empty()) write_output(output.trace, render::trace_json(problem, timeline));
  if (output.json) {
    print(text_or_json);
  } else if (output.trace != kStandardOutput && !output.silent) {
    print(render::problem_text(problem, output.graph) + "\n" + text_or_json);
    if (!output.trace.empty()) {
      print(fmt::format("\nwrote {}; open it in https://ui.perfetto.dev\n", output.trace));
    }
  }
}

}  // namespace doppler::app
