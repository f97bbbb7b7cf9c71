// dopp simulate
#include <fmt/format.h>

#include <string>
#include <vector>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/terminal.h"
#include "doppler/api/doppler.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/schedule/placement_json.h"
#include "doppler/study/describe.h"
#include "doppler/study/result_json.h"
#include "doppler/study/result_text.h"
#include "doppler/study/simulate.h"

namespace doppler::app {

void run(const SimulateRequest& request) {
  const study::SimulateSettings settings{.mode = request.mode,
                                         .choice = request.choice,
                                         .runs = request.runs,
                                         .jitter = request.jitter,
                                         .barrier_time = request.barrier,
                                         .seed = request.seed,
                                         .interrupt = catch_interrupts()};
  check_output(request.trace);
  ProgressLine progress("reading " + request.graph);
  const auto problem =
      api::load_problem(request.graph, request.machine.devices, request.machine.problem);
  std::vector<std::string> warnings;
  const schedule::Placement placement =
      schedule::read_placement_json(request.placement, read_file(request.placement), *problem,
                                    warnings)
          .placement;
  try {
    schedule::check_placement(*problem, placement);
  } catch (const InfeasibleError& error) {
    throw InfeasibleError(fmt::format("{}: {}", request.placement, error.what()));
  }
  progress.say("simulating");
  const study::SimulateResult result = study::simulate(*problem, placement, settings);
  const std::string trace =
      request.trace.empty() ? "" : study::trace_json(*problem, result.timeline);
  progress.finish();
  for (const std::string& warning : warnings) print_warning(warning);
  if (!request.trace.empty()) write_output(request.trace, trace);

  if (request.json) {
    print(study::simulate_json(*problem, request.graph, settings, result));
  } else if (request.trace != kStandardOutput) {
    print(study::describe_problem(*problem, request.graph) + "\n" +
          study::simulate_text(*problem, settings, result));
    if (!request.trace.empty()) {
      print(fmt::format("\nwrote {}; open it in https://ui.perfetto.dev\n", request.trace));
    }
  }
  if (!result.failure.empty()) {
    throw InfeasibleError(
        fmt::format("{}: does not fit in memory: {}", request.placement, result.failure));
  }
}

}  // namespace doppler::app
