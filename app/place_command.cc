// dopp place
#include <fmt/format.h>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/terminal.h"
#include "doppler/api/doppler.h"
#include "doppler/base/file.h"
#include "doppler/base/units.h"
#include "doppler/schedule/placement_json.h"
#include "doppler/study/describe.h"
#include "doppler/study/limits.h"
#include "doppler/study/result_json.h"
#include "doppler/study/result_text.h"

namespace doppler::app {

study::RunSettings run_settings(const SearchOptions& search) {
  return {.seed = search.seed,
          .objective = search.objective,
          .budget_seconds = search.budget_seconds,
          .max_evaluations = search.max_evaluations,
          .threads = search.threads,
          .interrupt = catch_interrupts(),
          .progress = {}};
}

void run(const PlaceRequest& request) {
  const place::Registry methods = api::default_methods();
  const place::Placer& method = methods.find(request.method);
  study::RunSettings settings = run_settings(request.search);

  std::string output;
  {
    ProgressLine progress("reading " + request.graph);
    const auto problem =
        api::load_problem(request.graph, request.machine.devices, request.machine.problem);
    progress.say(fmt::format("{}: placing {} nodes on {} devices", request.method,
                             format_integer(problem->node_count()), problem->device_count()));
    settings.progress = [&](const place::Progress& at) {
      progress.say(fmt::format("{}: {:.1f} s, {} evaluations, best {}, bound {}", request.method,
                               at.seconds, format_integer(at.evaluations),
                               format_time(at.best, problem->time_unit()),
                               format_time(at.bound, problem->time_unit())));
    };
    const study::Result result = study::run_method(*problem, method, settings);
    progress.say("looking at what limits it");
    const study::Limits limits = study::find_limits(*problem, result.placement);
    if (!request.output.empty()) {
      write_file(request.output, schedule::write_placement_json(*problem, result.placement, {}));
    }
    output = request.json ? study::place_json(*problem, request.graph, result, limits)
                          : study::describe_problem(*problem, request.graph) +
                                study::place_text(*problem, result, limits);
  }
  print(output);
  if (!request.output.empty() && !request.json) print(fmt::format("\nwrote {}\n", request.output));
}

}  // namespace doppler::app
