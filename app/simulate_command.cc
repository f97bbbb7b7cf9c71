// dopp simulate
#include <fmt/format.h>

#include <string>
#include <vector>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/load.h"
#include "app/placed_run.h"
#include "app/terminal.h"
#include "doppler/api/doppler.h"
#include "doppler/base/error.h"
#include "doppler/render/result_json.h"
#include "doppler/render/result_text.h"
#include "doppler/sim/repeated_runs.h"

namespace doppler::app {

void run(const SimulateRequest& request) {
  const sim::SimulateSettings settings{.mode = request.mode,
                                       .choice = request.choice,
                                       .runs = request.runs,
                                       .jitter = request.jitter,
                                       .barrier_time = request.barrier,
                                       .seed = request.seed,
                                       .stop = StopToken(catch_interrupts())};
  check_output(request.trace);
  ProgressLine progress("reading " + request.graph);
  MachineOptions machine = request.machine;
  load_as_placed(request.placement, read_origin(request.placement), request.graph, machine.load);
  const auto [problem, origin] = load_subject(request.graph, machine, progress);
  std::vector<std::string> warnings;
  const schedule::Placement placement = read_placement(request.placement, *problem, warnings);
  progress.say("simulating");
  const sim::SimulateResult result = sim::simulate(*problem, placement, settings);
  progress.finish();
  for (const std::string& warning : warnings) print_warning(warning);
  show_run(*problem, {.graph = request.graph, .trace = request.trace, .json = request.json},
           result.timeline,
           request.json ? render::simulate_json(*problem, origin, settings, result)
                        : render::simulate_text(*problem, settings, result));
  if (!result.failure.empty()) {
    throw InfeasibleError(
        fmt::format("{}: does not fit in memory: {}", request.placement, result.failure));
  }
}

}  // namespace doppler::app
