// dopp place
#include <fmt/format.h>

#include "app/commands.h"
#include "app/load.h"
#include "app/placed_run.h"
#include "app/search_options.h"
#include "app/terminal.h"
#include "doppler/analysis/limits.h"
#include "doppler/api/doppler.h"
#include "doppler/base/file.h"
#include "doppler/base/units.h"
#include "doppler/render/problem_text.h"
#include "doppler/render/result_json.h"
#include "doppler/render/result_text.h"
#include "doppler/schedule/placement.h"
#include "doppler/train/placers/policy_placer.h"

namespace doppler::app {
namespace {

std::string placement_file(const PlaceRequest& request, const cost::Problem& problem,
                           const place::Result& result) {
  schedule::PlacementFile file{.origin = origin_of(problem, request.graph, request.machine),
                               .placement = result.placement};
  file.origin.method = result.method;
  file.origin.seed = result.seed;
  file.origin.makespan = result.figures.nominal;
  return schedule::write_placement_json(problem, file);
}

}  // namespace

void run(const PlaceRequest& request) {
  // The learned method as asked for comes in place of those that ship.
  train::PolicySource source = train::shipped_policies;
  if (const std::string& file = request.policy.file; !file.empty()) {
    source = [policy = std::make_shared<const policy::Policy>(policy::read_policy_json(
                  file, read_file(file)))] { return train::Policies{policy}; };
  }
  const place::Registry methods =
      place::methods_with({train::make_policy_placer(std::move(source), request.policy.placer)},
                          train::make_scratch_placers());
  const place::Placer& method = methods.find(request.method);
  place::RunSettings settings = run_settings(request.search);

  check_output(request.output);
  ProgressLine progress("reading " + request.graph);
  const auto [problem, origin] = load_subject(request.graph, request.machine, progress);
  const std::string& unit = problem->time_unit();
  progress.say(fmt::format("{}: placing {} nodes on {} devices", request.method,
                           format_integer(problem->node_count()), problem->device_count()));
  settings.progress = [&](const place::Progress& at) {
    progress.say(fmt::format("{}: {:.0f} s, {} evaluations, best {}, bound {}", request.method,
                             at.seconds, format_integer(at.evaluations), format_time(at.best, unit),
                             format_time(at.bound, unit)));
  };
  const place::Result result = place::run_method(*problem, method, settings);
  progress.say("looking at what limits it");
  const analysis::Limits limits = analysis::find_limits(*problem, result.placement);
  progress.finish();
  if (!result.warning.empty()) print_warning(result.warning);
  if (!request.output.empty()) {
    write_output(request.output, placement_file(request, *problem, result));
    if (request.output == kStandardOutput) return;
  }
  if (request.json) {
    print(render::place_json(*problem, origin, result, limits));
    return;
  }
  print(render::problem_text(*problem, request.graph) +
        render::place_text(*problem, result, limits, "--evaluations"));
  if (!request.output.empty()) print(fmt::format("\nwrote {}\n", request.output));
}

}  // namespace doppler::app
