// dopp methods and dopp place.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "app/command_line.h"
#include "app/option_groups.h"
#include "app/subject.h"
#include "app/terminal.h"
#include "doppler/analysis/limits.h"
#include "doppler/api/placement_source.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/json_writer.h"
#include "doppler/base/units.h"
#include "doppler/render/problem_text.h"
#include "doppler/render/result_text.h"
#include "doppler/schedule/placement.h"

namespace doppler::app {
namespace {

void print_methods(bool as_json) {
  const place::Registry methods = api::default_methods();
  if (as_json) {
    JsonWriter json;
    json.begin_object().key("methods").begin_array();
    for (const place::Placer* method : methods.all()) {
      json.begin_object(JsonLayout::kCompact)
          .field("name", method->name())
          .field("summary", method->summary())
          .field("searches", method->uses_budget())
          .end_object();
    }
    print(json.end_array().end_object().take());
    return;
  }
  std::string text;
  for (const place::Placer* method : methods.all()) {
    text += fmt::format("{:<20}{} {}\n", method->name(), method->uses_budget() ? "*" : " ",
                        method->summary());
  }
  print(text + "\n* searches within --budget or --evaluations\n");
}

struct PlaceRequest {
  api::ProblemSource problem;
  std::string method = "auto";
  api::PolicyOptions policy;
  place::RunSettings search;
  std::string output;  // empty where no file is to be written
  bool json = false;
};

void check(const PlaceRequest& request, const CommandLine& line) {
  const bool learned = request.method == "policy" || request.method == "auto";
  for (const char* option : {"--policy", "--samples", "--finetune"}) {
    if (!learned && line.was_given(option)) {
      throw ParameterError(fmt::format("{}: only policy and auto use it", option));
    }
  }
  check_budgets(request.search);
  check_outputs({{"--output", request.output}}, request.json, {request.policy.file},
                request.problem);
}

// Returns the text of the file that holds the result and where it comes from.
std::string placement_file(const PlaceRequest& request, const cost::Problem& problem,
                           const place::Result& result) {
  schedule::PlacementFile file{.origin = api::origin_of(problem, request.problem),
                               .placement = result.placement};
  file.origin.method = result.method;
  file.origin.seed = result.seed;
  file.origin.makespan = result.figures.nominal;
  return schedule::write_placement_json(problem, file);
}

void run(const PlaceRequest& request) {
  const place::Registry methods = api::methods_with_policy(request.policy);
  const place::Placer& method = methods.find(request.method);
  place::RunSettings settings = request.search;
  check_output(request.output);
  ProgressLine progress("reading " + request.problem.graph);
  const auto [problem, origin] = load_subject(request.problem, progress);
  settings.stop = interrupts();
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
  print(render::problem_text(*problem, request.problem.graph) +
        render::place_text(*problem, result, limits, "--evaluations"));
  if (!request.output.empty()) print(fmt::format("\nwrote {}\n", request.output));
}

}  // namespace

void add_methods_command(CommandLine& line) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* methods = line.add(line.app(), "methods", "List the placement methods",
                               "  dopp methods", [json] { print_methods(*json); });
  add_json(*methods, *json);
  add_unused_seed(*methods);
}

void add_place_command(CommandLine& line) {
  const auto request = std::make_shared<PlaceRequest>();
  CLI::App* place =
      line.add(line.app(), "place", "Find a placement",
               "  dopp place graph.json --devices 4xA100 -o placement.json\n"
               "  dopp place graph.json --devices uniform:4 --method heft\n"
               "  dopp place graph.json --devices 2n4xA100 --objective any-order --budget 20\n"
               "  dopp place graph.json --devices 8xV100 --evaluations 100000 --seed 3 --json",
               [request, &line] {
                 check(*request, line);
                 run(*request);
               });
  add_text(*place, "GRAPH", request->problem.graph, "Graph file").required();
  add_machine(*place, request->problem);
  add_text(*place, "--method", request->method, "A method of `dopp methods`")
      .type_name("NAME")
      .show_default();
  add_text(*place, "--policy", request->policy.file, "Of --method policy: a file of `dopp train`")
      .type_name("FILE");
  add_number<std::uint64_t>(
      *place, "--samples", request->policy.placer.samples, 1, 1'000'000,
      "Of --method policy: placements tried, the best of which counts (default 64)", "N");
  add_number<double>(*place, "--finetune", request->policy.placer.finetune_seconds, 0.0, 1e7,
                     "Of --method policy: train on this graph first (default 0)", "SECONDS");
  add_search(*place, request->search);
  add_output(*place, "-o,--output", request->output, "Write the placement to this file");
  add_json(*place, request->json);
}

}  // namespace doppler::app
