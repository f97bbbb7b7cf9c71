#include "app/load.h"

#include <fmt/format.h>

#include <utility>

#include "doppler/api/doppler.h"

namespace doppler::app {

Subject load_subject(const std::string& graph, const MachineOptions& machine,
                     ProgressLine& progress) {
  api::LoadedProblem loaded = api::load_problem({.graph = graph,
                                                 .devices = machine.devices,
                                                 .options = machine.problem,
                                                 .costs = machine.costs_file,
                                                 .load = machine.load,
                                                 .rules_of_files = machine.rules_of_files,
                                                 .rules = machine.rules});
  progress.print_notes(loaded.notes);
  return {std::move(loaded.problem), {graph, std::move(loaded.notes)}};
}

}  // namespace doppler::app
