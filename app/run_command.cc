// dopp run
#include <fmt/format.h>

#include <string>
#include <vector>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/load.h"
#include "app/placed_run.h"
#include "app/terminal.h"
#include "doppler/analysis/fidelity.h"
#include "doppler/api/doppler.h"
#include "doppler/base/error.h"
#include "doppler/cost/measured_costs.h"
#include "doppler/exec/execute.h"
#include "doppler/render/result_json.h"
#include "doppler/render/result_text.h"
#include "doppler/schedule/placement.h"

namespace doppler::app {
namespace {

schedule::Placement placement_for(const RunRequest& request, const cost::Problem& problem,
                                  std::vector<std::string>& warnings) {
  if (request.placement.empty()) {
    return api::place(problem, {.run = {.seed = request.execute.seed,
                                        .budget_seconds = request.budget_seconds,
                                        .stop = request.execute.stop}})
        .placement;
  }
  return read_placement(request.placement, problem, warnings, true);
}

// What is left of a run waits for this, so it is short.
constexpr double kReplacingSeconds = 0.1;

schedule::Placement replace(const cost::Problem& rest) {
  return api::place(rest, {.run = {.budget_seconds = kReplacingSeconds}}).placement;
}

}  // namespace

void run(const RunRequest& given) {
  RunRequest request = given;
  request.execute.stop = StopToken(catch_interrupts());
  // Values need kernels; an emulated run goes without where the graph has none or time is virtual.
  const bool emulated = request.execute.backend == exec::kEmulatedBackend;
  request.execute.computes = !emulated || request.execute.check || request.execute.check_finite;
  if (request.on_failure == "migrate") request.execute.replace = replace;
  check_output(request.trace);
  check_output(request.profile);
  ProgressLine progress("reading " + request.graph);
  std::vector<std::string> warnings;
  if (!request.placement.empty()) {
    const schedule::PlacementOrigin made_for = read_origin(request.placement);
    load_as_placed(request.placement, made_for, request.graph, request.machine.load);
    // What is placed anew after a loss obeys what the placement obeyed.
    if (request.on_failure == "migrate") {
      constrain_as_placed(request.placement, made_for, request.machine, warnings);
    }
  }
  const auto [problem, origin] = load_subject(request.graph, request.machine, progress);
  if (request.placement.empty()) progress.say("placing");
  const schedule::Placement placement = placement_for(request, *problem, warnings);
  progress.say("running");
  exec::ExecuteResult result = exec::execute(problem, placement, request.execute);
  const double predicted = analysis::predict_makespan(*problem, result.placement,
                                                      request.execute.mode, request.execute.choice);
  progress.finish();
  for (const std::string& warning : warnings) print_warning(warning);
  const bool silent = request.profile == kStandardOutput;
  if (result.costs) {
    result.costs->graph = request.graph;
    result.costs->devices = request.machine.devices;
    write_output(request.profile, cost::write_measured_costs_json(problem->graph(), *result.costs));
  }
  show_run(*problem, {request.graph, request.trace, request.json, silent}, result.timeline,
           request.json ? render::execute_json(*problem, origin, request.execute, result, predicted)
                        : render::execute_text(*problem, request.execute, result, predicted));
  if (result.costs && !request.json && !silent && request.trace != kStandardOutput) {
    print(fmt::format("\nwrote {}; use it with --costs\n", request.profile));
  }
  if (result.different) {
    throw RunError(fmt::format("{}: '{}' is not what the serial runner computes", request.graph,
                               *result.different));
  }
}

}  // namespace doppler::app
