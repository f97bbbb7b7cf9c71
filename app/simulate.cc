// dopp simulate.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "app/option_groups.h"
#include "app/subject.h"
#include "app/terminal.h"
#include "doppler/api/placement_source.h"
#include "doppler/base/error.h"
#include "doppler/render/result_text.h"
#include "doppler/sim/repeated_runs.h"

namespace doppler::app {
namespace {

struct SimulateRequest {
  api::ProblemSource problem;
  std::string placement;
  sim::SimulateSettings settings;
  std::string trace;  // empty where no file is to be written
  bool json = false;
};

void check(const SimulateRequest& request) {
  if (request.settings.barrier_time > 0.0 &&
      request.settings.mode != schedule::Mode::kSynchronous) {
    throw ParameterError("--barrier: only --mode sync has barriers");
  }
  check_outputs({{"--trace", request.trace}}, request.json, {request.placement}, request.problem);
}

void run(const SimulateRequest& request) {
  sim::SimulateSettings settings = request.settings;
  check_output(request.trace);
  ProgressLine progress("reading " + request.problem.graph);
  api::ProblemSource source = request.problem;
  api::load_as_placed(request.placement, api::read_origin(request.placement), source);
  const auto [problem, origin] = load_subject(source, progress);
  std::vector<std::string> warnings;
  const schedule::Placement placement = api::read_placement(request.placement, *problem, warnings);
  settings.stop = interrupts();
  progress.say("simulating");
  const sim::SimulateResult result = sim::simulate(*problem, placement, settings);
  progress.finish();
  print_warnings(warnings);
  show_run(*problem, {.graph = source.graph, .trace = request.trace, .json = request.json},
           result.timeline,
           request.json ? render::simulate_json(*problem, origin, settings, result)
                        : render::simulate_text(*problem, settings, result));
  if (!result.failure.empty()) {
    throw InfeasibleError(
        fmt::format("{}: does not fit in memory: {}", request.placement, result.failure));
  }
}

}  // namespace

void add_simulate_command(CommandLine& line) {
  const auto request = std::make_shared<SimulateRequest>();
  CLI::App* simulate = line.add(
      line.app(), "simulate", "Run a placement in the simulator",
      "  dopp simulate graph.json placement.json --devices 4xA100 --trace trace.json\n"
      "  dopp simulate graph.json placement.json --devices 4xA100 --mode sync\n"
      "  dopp simulate graph.json placement.json --devices 4xA100 --choice random --runs 100",
      [request] {
        check(*request);
        run(*request);
      });
  sim::SimulateSettings& settings = request->settings;
  add_text(*simulate, "GRAPH", request->problem.graph, "Graph file").required();
  add_text(*simulate, "PLACEMENT", request->placement, "Placement file").required();
  add_machine(*simulate, request->problem);
  add_rules(*simulate, settings.mode, settings.choice);
  add_number<int>(*simulate, "--runs", settings.runs, 1, kMaxRuns,
                  "Runs, each with its own seed (default 1)", "N");
  add_number<double>(*simulate, "--jitter", settings.jitter, 0.0, 10.0,
                     "Multiply every cost by exp(S x a normal number) (default 0)", "S");
  add_number<double>(*simulate, "--barrier", settings.barrier_time, 0.0, 1e300,
                     "What a barrier of --mode sync takes, in the graph's time unit (default 0)",
                     "TIME");
  add_seed(*simulate, settings.seed);
  add_output(*simulate, "--trace", request->trace, "Write the first run as a Perfetto trace");
  add_json(*simulate, request->json);
}

}  // namespace doppler::app
