// dopp run.
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "app/option_groups.h"
#include "app/subject.h"
#include "app/terminal.h"
#include "doppler/api/placement_source.h"
#include "doppler/base/error.h"
#include "doppler/cost/measured_costs.h"
#include "doppler/exec/execute.h"
#include "doppler/render/result_text.h"
#include "doppler/schedule/placement.h"

namespace doppler::app {
namespace {

// What is left of a run waits for its new placement, so the search is short.
constexpr double kReplacingSeconds = 0.1;

struct RunRequest {
  api::ProblemSource problem;
  std::string placement;  // empty to place first
  exec::ExecuteSettings execute;
  double budget_seconds = place::kDefaultBudgetSeconds;  // of placing
  std::string on_failure = "fail";                       // or "migrate"
  std::string trace;                                     // empty where no file is to be written
  std::string profile;                                   // likewise
  bool json = false;
};

// Reads "cpu1@0.02": a device and the seconds after which it is lost.
exec::DeviceLoss read_loss(const std::string& text) {
  const std::size_t at = text.rfind('@');
  double seconds = -1.0;
  const char* end = text.data() + text.size();
  const char* begin = at == std::string::npos ? end : text.data() + at + 1;
  const auto parsed = std::from_chars(begin, end, seconds);
  if (at == 0 || parsed.ec != std::errc() || parsed.ptr != end ||
      !(seconds >= 0.0 && seconds < 1e9)) {
    throw ParameterError(
        fmt::format("--lose: '{}' is not DEVICE@SECONDS with a time from 0", text));
  }
  return {text.substr(0, at), seconds};
}

schedule::Placement placement_for(const RunRequest& request, const cost::Problem& problem,
                                  std::vector<std::string>& warnings) {
  if (request.placement.empty()) {
    return api::place(problem, {.run = {.seed = request.execute.seed,
                                        .budget_seconds = request.budget_seconds,
                                        .stop = interrupts()}})
        .placement;
  }
  return api::read_placement(request.placement, problem, warnings, true);
}

exec::ExecuteSettings settings_for(const RunRequest& request) {
  exec::ExecuteSettings settings = request.execute;
  settings.profile = !request.profile.empty();
  // Values need kernels; an emulated run goes without where the graph has none or time is virtual.
  const bool emulated = settings.backend == exec::kEmulatedBackend;
  settings.computes = !emulated || settings.check || settings.check_finite;
  if (request.on_failure == "migrate") settings.replace = api::make_replacement(kReplacingSeconds);
  return settings;
}

void run(const RunRequest& request) {
  exec::ExecuteSettings settings = settings_for(request);
  check_output(request.trace);
  check_output(request.profile);
  ProgressLine progress("reading " + request.problem.graph);
  std::vector<std::string> warnings;
  api::ProblemSource source = request.problem;
  if (!request.placement.empty()) {
    const schedule::PlacementOrigin made_for = api::read_origin(request.placement);
    api::load_as_placed(request.placement, made_for, source);
    // What is placed anew after a loss obeys what the placement obeyed.
    if (request.on_failure == "migrate") {
      api::constrain_as_placed(request.placement, made_for, source, warnings);
    }
  }
  const auto [problem, origin] = load_subject(source, progress);
  exec::check_execution(*problem, settings);
  settings.stop = interrupts();
  if (request.placement.empty()) progress.say("placing");
  const schedule::Placement placement = placement_for(request, *problem, warnings);
  progress.say("running");
  api::RunResult result = api::run(problem, placement, settings);
  progress.finish();
  print_warnings(warnings);
  const bool silent = request.profile == kStandardOutput;
  if (result.costs) {
    result.costs->graph = source.graph;
    result.costs->devices = source.devices;
    write_output(request.profile, cost::write_measured_costs_json(problem->graph(), *result.costs));
  }
  show_run(*problem, {source.graph, request.trace, request.json, silent}, result.timeline,
           request.json ? render::execute_json(*problem, origin, settings, result, result.predicted)
                        : render::execute_text(*problem, settings, result, result.predicted));
  if (result.costs && !request.json && !silent && request.trace != kStandardOutput) {
    print(fmt::format("\nwrote {}; use it with --costs\n", request.profile));
  }
  if (const auto& different = result.different) {
    const std::string in_run =
        settings.runs + settings.warmup > 1 ? fmt::format(" in run {}", different->run) : "";
    throw RunError(
        different->has_nan
            ? fmt::format("{}: '{}' has NaN{}, which equals nothing, so that it cannot be checked",
                          source.graph, different->tensor, in_run)
            : fmt::format("{}: '{}'{} is not what the serial runner computes", source.graph,
                          different->tensor, in_run));
  }
}

}  // namespace

void add_run_command(CommandLine& line) {
  const auto request = std::make_shared<RunRequest>();
  CLI::App* command =
      line.add(line.app(), "run", "Run a placed graph on an engine, asynchronously",
               "  dopp run graph.json --engine threads --devices cpu:2 --runs 20 --check\n"
               "  dopp run graph.json placement.json --engine emulated --devices 4xP100\n"
               "  dopp run graph.json placement.json --engine emulated --devices 8xV100"
               " --clock virtual --jitter 0.05 --runs 1000\n"
               "  dopp run graph.json --engine threads --devices cpu:2 --runs 20"
               " --profile costs.json",
               [request] {
                 check_outputs({{"--trace", request->trace}, {"--profile", request->profile}},
                               request->json, {request->placement}, request->problem);
                 run(*request);
               });
  exec::ExecuteSettings& execute = request->execute;
  add_text(*command, "GRAPH", request->problem.graph, "Graph file").required();
  add_text(*command, "PLACEMENT", request->placement, "Placement file (default: places first)");
  add_engine(*command, execute).required();
  add_machine(*command, request->problem);
  add_number<int>(*command, "--runs", execute.runs, 1, kMaxRuns, "Runs that count (default 1)",
                  "N");
  add_number<int>(*command, "--warmup", execute.warmup, 0, kMaxRuns,
                  "Runs before these (default 0)", "N");
  add_flag(*command, "--check", execute.check,
           "Compare all results of every run with the serial runner's");
  add_flag(*command, "--check-finite", execute.check_finite,
           "Fail where a result is not a finite number");
  add_rules(*command, execute.mode, execute.choice);
  add_skew(*command, execute.skew);
  add_number<double>(*command, "--watchdog", execute.watchdog_seconds, 1e-3, 1e9,
                     "A node that runs longer is taken for hung (default: none is)", "SECONDS");
  add_text(*command, "--on-failure", request->on_failure,
           "When a device is lost: fail, or place what is left on the others and finish "
           "(default fail)")
      .one_of({"fail", "migrate"})
      .type_name("fail|migrate");
  add_repeated(
      *command, "--lose",
      [&execute](const std::string& text) { execute.losses.push_back(read_loss(text)); }, true,
      "Wall clock: stop a device that long after the start of the first counted run",
      "DEVICE@SECONDS,…");
  add_number<double>(*command, "--budget", request->budget_seconds, 1e-3, 1e9,
                     "Time for placing, where no placement is given (default 5)", "SECONDS");
  add_seed(*command, execute.seed);
  add_output(*command, "--trace", request->trace, "Write the first run as a Perfetto trace");
  add_output(*command, "--profile", request->profile,
             "Write what nodes and transfers took, for --costs");
  add_json(*command, request->json);
}

}  // namespace doppler::app
