// dopp run and fidelity.
#include <memory>

#include "app/command_line.h"
#include "app/engine_option_kinds.h"
#include "app/option_kinds.h"

namespace doppler::app {
namespace {

constexpr int kMaxPlacements = 10'000;

// "cpu1@0.02": a device and when it is lost.
void add_losses(CLI::App& app, std::vector<exec::DeviceLoss>& losses) {
  app.add_option_function<std::vector<std::string>>(
         "--lose",
         [&losses](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
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
             losses.push_back({text.substr(0, at), seconds});
           }
         },
         "Wall clock: stop a device that long after the start of the first counted run")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("DEVICE@SECONDS,…");
}

void add_run(CommandLine& line) {
  const auto request = std::make_shared<RunRequest>();
  CLI::App* run = line.add(
      line.app(), "run", "Run a placed graph on an engine, asynchronously",
      "  dopp run graph.json --engine threads --devices cpu:2 --runs 20 --check\n"
      "  dopp run graph.json placement.json --engine emulated --devices 4xP100\n"
      "  dopp run graph.json placement.json --engine emulated --devices 8xV100"
      " --clock virtual --jitter 0.05 --runs 1000\n"
      "  dopp run graph.json --engine threads --devices cpu:2 --runs 20"
      " --profile costs.json",
      [request] {
        check_outputs({{"--trace", request->trace}, {"--profile", request->profile}}, request->json,
                      {request->graph, request->placement}, request->machine);
        request->execute.profile = !request->profile.empty();
        return *request;
      });
  exec::ExecuteSettings& execute = request->execute;
  run->add_option("GRAPH", request->graph, "Graph file")->required();
  run->add_option("PLACEMENT", request->placement, "Placement file (default: places first)");
  add_engine(*run, execute)->required();
  add_machine(*run, request->machine);
  add_number<int>(
      *run, "--runs", [&execute](int n) { execute.runs = n; }, 1, kMaxRuns,
      "Runs that count (default 1)", "N");
  add_number<int>(
      *run, "--warmup", [&execute](int n) { execute.warmup = n; }, 0, kMaxRuns,
      "Runs before these (default 0)", "N");
  run->add_flag("--check", execute.check, "Compare all results with the serial runner's");
  run->add_flag("--check-finite", execute.check_finite,
                "Fail where a result is not a finite number");
  add_rules(*run, execute.mode, execute.choice);
  add_deviation(*run, execute.skew);
  add_number<double>(
      *run, "--watchdog", [&execute](double x) { execute.watchdog_seconds = x; }, 1e-3, 1e9,
      "A node that runs longer is taken for hung (default: none is)", "SECONDS");
  run->add_option("--on-failure", request->on_failure,
                  "When a device is lost: fail, or place what is left on the others and finish "
                  "(default fail)")
      ->check(CLI::IsMember({"fail", "migrate"}))
      ->type_name("fail|migrate");
  add_losses(*run, execute.losses);
  add_number<double>(
      *run, "--budget", [request](double x) { request->budget_seconds = x; }, 1e-3, 1e9,
      "Time for placing, where no placement is given (default 5)", "SECONDS");
  add_seed(*run, execute.seed);
  add_output(*run, "--trace", request->trace, "Write the first run as a Perfetto trace");
  add_output(*run, "--profile", request->profile,
             "Write what nodes and transfers took, for --costs");
  add_json(*run, request->json);
}

void add_fidelity(CommandLine& line) {
  const auto request = std::make_shared<FidelityRequest>();
  CLI::App* fidelity =
      line.add(line.app(), "fidelity", "Measure how well the simulator predicts an engine",
               "  dopp fidelity graph.json --engine threads --devices cpu:2 --costs costs.json\n"
               "  dopp fidelity graph.json --engine emulated --devices 4xP100 --placements 30"
               " --picture fidelity.svg",
               [request] {
                 check_outputs({{"--output", request->output}, {"--picture", request->picture}},
                               request->json, {request->graph}, request->machine);
                 return *request;
               });
  analysis::FidelitySettings& settings = request->fidelity;
  analysis::SampleSettings& sample = settings.sample;
  fidelity->add_option("GRAPH", request->graph, "Graph file")->required();
  add_engine(*fidelity, settings)->required();
  add_machine(*fidelity, request->machine);
  add_number<int>(
      *fidelity, "--placements", [&sample](int n) { sample.placements = n; }, 2, kMaxPlacements,
      "How many to compare (default 60)", "N");
  add_number<int>(
      *fidelity, "--rounds", [&settings](int n) { settings.rounds = n; }, 2, kMaxRuns,
      "Rounds, in each of which every placement has its turn (default 5)", "N");
  fidelity->add_flag("--profile", settings.profile,
                     "Predict with times measured in runs of the best placement in between");
  add_number<int>(
      *fidelity, "--runs", [&settings](int n) { settings.runs = n; }, 1, kMaxRuns,
      "Runs of a placement at its turn, whose median counts (default 1)", "N");
  CLI::Option* budget = add_number<double>(
      *fidelity, "--budget", [&sample](double s) { sample.budget_seconds = s; }, 1e-3, 1e7,
      "Time for searching placements, instead of evaluations", "SECONDS");
  add_number<std::uint64_t>(
      *fidelity, "--evaluations", [&sample](std::uint64_t n) { sample.max_evaluations = n; }, 1,
      kMaxEvaluations, "Simulated runs of each search (default 2000)", "N")
      ->excludes(budget);
  add_seed(*fidelity, sample.seed);
  add_threads(*fidelity, sample.threads);
  add_output(*fidelity, "-o,--output", request->output, "Write a row for each placement as CSV");
  add_output(*fidelity, "--picture", request->picture,
             "Write predicted over measured times as SVG");
  add_json(*fidelity, request->json);
}

}  // namespace

void add_engine_commands(CommandLine& line) {
  add_run(line);
  add_fidelity(line);
}

}  // namespace doppler::app
