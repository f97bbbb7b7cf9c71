#include "app/load.h"

#include <utility>

#include "doppler/api/doppler.h"

namespace doppler::app {

std::vector<api::FileRules> rules_of_files(const MachineOptions& machine) {
  if (machine.constraints_file.empty()) return {};
  return {{machine.constraints_file, machine.rules_of_file}};
}

Subject load_subject(const std::string& graph, const MachineOptions& machine,
                     ProgressLine& progress) {
  api::LoadedProblem loaded = api::load_problem({.graph = graph,
                                                 .devices = machine.devices,
                                                 .options = machine.problem,
                                                 .costs = machine.costs_file,
                                                 .load = machine.load,
                                                 .rules_of_files = rules_of_files(machine),
                                                 .rules = machine.rules});
  progress.print_notes(loaded.notes);
  return {std::move(loaded.problem), {graph, std::move(loaded.notes)}};
}

}  // namespace doppler::app
