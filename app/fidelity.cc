// dopp fidelity.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "app/command_line.h"
#include "app/option_groups.h"
#include "app/subject.h"
#include "app/terminal.h"
#include "doppler/analysis/fidelity.h"
#include "doppler/api/doppler.h"
#include "doppler/render/analysis_text.h"
#include "doppler/render/problem_text.h"

namespace doppler::app {
namespace {

constexpr int kMaxPlacements = 10'000;

struct FidelityRequest {
  api::ProblemSource problem;
  analysis::FidelitySettings settings;
  std::string output;   // the table; empty where no file is to be written
  std::string picture;  // likewise
  bool json = false;
};

void run(const FidelityRequest& request) {
  analysis::FidelitySettings settings = request.settings;
  check_output(request.output);
  check_output(request.picture);
  ProgressLine progress("reading " + request.problem.graph);
  const auto [problem, origin] = load_subject(request.problem, progress);
  settings.sample.stop = interrupts();
  settings.progress = [&](const std::string& what) { progress.say(what); };
  const analysis::Fidelity fidelity =
      analysis::measure_fidelity(problem, api::default_methods(), settings);
  progress.finish();
  std::string wrote;
  const auto write = [&](const std::string& path, const std::string& text) {
    if (path.empty()) return;
    write_output(path, text);
    wrote += (wrote.empty() ? "\nwrote " : " and ") + path;
  };
  write(request.output, render::fidelity_csv(fidelity));
  write(request.picture, render::fidelity_svg(*problem, fidelity));
  if (request.output == kStandardOutput || request.picture == kStandardOutput) return;
  if (request.json) {
    print(render::fidelity_json(*problem, origin, settings, fidelity));
    return;
  }
  print(render::problem_text(*problem, request.problem.graph) + "\n" +
        render::fidelity_text(*problem, settings, fidelity));
  if (!wrote.empty()) print(wrote + "\n");
}

}  // namespace

void add_fidelity_command(CommandLine& line) {
  const auto request = std::make_shared<FidelityRequest>();
  CLI::App* fidelity =
      line.add(line.app(), "fidelity", "Measure how well the simulator predicts an engine",
               "  dopp fidelity graph.json --engine threads --devices cpu:2 --costs costs.json\n"
               "  dopp fidelity graph.json --engine emulated --devices 4xP100 --placements 30"
               " --picture fidelity.svg\n"
               "  dopp fidelity graph.json --engine emulated --devices 4xP100 --clock virtual"
               " --jitter 0.05 --slow-device gpu1=1.5",
               [request] {
                 check_outputs({{"--output", request->output}, {"--picture", request->picture}},
                               request->json, {}, request->problem);
                 run(*request);
               });
  analysis::FidelitySettings& settings = request->settings;
  analysis::SampleSettings& sample = settings.sample;
  add_text(*fidelity, "GRAPH", request->problem.graph, "Graph file").required();
  add_engine(*fidelity, settings).required();
  add_machine(*fidelity, request->problem);
  add_skew(*fidelity, settings.skew);
  add_number<int>(*fidelity, "--placements", sample.placements, 2, kMaxPlacements,
                  "How many to compare (default 60)", "N");
  add_number<int>(*fidelity, "--rounds", settings.rounds, 2, kMaxRuns,
                  "Rounds, in each of which every placement has its turn (default 5)", "N");
  add_flag(*fidelity, "--profile", settings.profile,
           "Predict with times measured in runs of the best placement in between");
  add_number<int>(*fidelity, "--runs", settings.runs, 1, kMaxRuns,
                  "Runs of a placement at its turn, whose median counts (default 1)", "N");
  const Option budget =
      add_number<double>(*fidelity, "--budget", sample.budget_seconds, 1e-3, 1e7,
                         "Time for searching placements, instead of evaluations", "SECONDS");
  add_number<std::uint64_t>(*fidelity, "--evaluations", sample.max_evaluations, 1, kMaxEvaluations,
                            "Simulated runs of each search (default 2000)", "N")
      .excludes(budget);
  add_seed(*fidelity, sample.seed);
  add_threads(*fidelity, sample.threads);
  add_output(*fidelity, "-o,--output", request->output, "Write a row for each placement as CSV");
  add_output(*fidelity, "--picture", request->picture,
             "Write predicted over measured times as SVG");
  add_json(*fidelity, request->json);
}

}  // namespace doppler::app
