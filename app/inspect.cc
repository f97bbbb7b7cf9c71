// dopp whatif, dopp diff and dopp explain inspect placements that were made before.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/command_line.h"
#include "app/option_groups.h"
#include "app/subject.h"
#include "app/terminal.h"
#include "doppler/analysis/what_if.h"
#include "doppler/api/placement_source.h"
#include "doppler/render/analysis_text.h"
#include "doppler/render/problem_text.h"

namespace doppler::app {
namespace {

using api::PlacementSource;
using api::SourcedPlacement;

// In these requests, devices and costs that `problem` leaves open are as the placement says; so is
// the graph of a diff.

struct WhatIfRequest {
  api::ProblemSource problem;
  std::string placement;
  analysis::MachineChanges changes;
  std::map<std::string, double> slowed;  // channels, times their speed
  std::string method = "auto";
  place::RunSettings search;
  bool json = false;
};

struct DiffRequest {
  api::ProblemSource problem;
  std::string before, after;  // placement files
  bool json = false;
};

struct ExplainRequest {
  api::ProblemSource problem;
  std::string placement;
  std::string node;
  bool json = false;
};

void run(const WhatIfRequest& request) {
  // There are several searches: each gets less than a placement that is to be used.
  constexpr double kBudgetSeconds = 2.0;
  const place::Registry methods = api::default_methods();
  const place::Placer& method = methods.find(request.method);
  ProgressLine progress("reading " + request.problem.graph);
  std::vector<std::string> warnings;
  PlacementSource source(request.problem);
  const SourcedPlacement sourced = read_sourced(source, request.placement, warnings);
  analysis::MachineChanges changes = request.changes;
  changes.slowed.assign(request.slowed.begin(), request.slowed.end());
  analysis::WhatIfSettings settings{.problem = {.constraints = sourced.demanded},
                                    .seed = request.search.seed,
                                    .budget_seconds = request.search.budget_seconds,
                                    .max_evaluations = request.search.max_evaluations,
                                    .threads = request.search.threads,
                                    .stop = interrupts()};
  if (!settings.budget_seconds && !settings.max_evaluations) {
    settings.budget_seconds = kBudgetSeconds;
  }
  settings.starting = [&](const std::string& change) { progress.say("what if: " + change); };
  const std::vector<analysis::WhatIfCase> cases =
      analysis::what_if(sourced.problem, sourced.placement, changes, method, settings);
  progress.finish();
  print_warnings(warnings);
  print(request.json ? render::what_if_json(*sourced.problem, sourced.graph_path, cases)
                     : render::problem_text(*sourced.problem, sourced.graph_path) + "\n" +
                           render::what_if_text(*sourced.problem, cases));
}

void run(const DiffRequest& request) {
  ProgressLine progress("reading " + request.before);
  std::vector<std::string> warnings;
  PlacementSource source(request.problem, PlacementSource::FileConstraints::kIgnored);
  const SourcedPlacement before = read_sourced(source, request.before, warnings);
  // Both are judged on the graph and machine of the first, whatever each was made to obey.
  const schedule::Placement after = api::read_placement(request.after, *before.problem, warnings);
  progress.say("simulating");
  const analysis::PlacementDiff diff =
      analysis::diff_placements(*before.problem, before.placement, after);
  progress.finish();
  print_warnings(warnings);
  print(request.json ? render::diff_json(*before.problem, before.graph_path,
                                         {request.before, request.after}, diff)
                     : render::problem_text(*before.problem, before.graph_path) + "\n" +
                           render::diff_text(*before.problem, diff));
}

void run(const ExplainRequest& request) {
  ProgressLine progress("reading " + request.problem.graph);
  std::vector<std::string> warnings;
  PlacementSource source(request.problem);
  const SourcedPlacement sourced = read_sourced(source, request.placement, warnings);
  const cost::Problem& problem = *sourced.problem;
  const NodeId node = analysis::find_node(problem.graph(), request.node);
  progress.say("simulating");
  const analysis::NodeExplanation explanation =
      analysis::explain_node(problem, sourced.placement, node);
  progress.finish();
  print_warnings(warnings);
  print(request.json ? render::explanation_json(problem, sourced.graph_path, explanation)
                     : render::problem_text(problem, sourced.graph_path) + "\n" +
                           render::explanation_text(problem, explanation));
}

void add_what_if(CommandLine& line) {
  const auto request = std::make_shared<WhatIfRequest>();
  CLI::App* what_if =
      line.add(line.app(), "whatif", "Predict what a change of the machine would do",
               "  dopp whatif graph.json placement.json\n"
               "  dopp whatif graph.json placement.json --lose gpu0,gpu1 --budget 10\n"
               "  dopp whatif graph.json placement.json --slow gpu0.out=0.25 --memory-share 0.5",
               [request] {
                 check_budgets(request->search);
                 run(*request);
               });
  analysis::MachineChanges& changes = request->changes;
  add_text(*what_if, "GRAPH", request->problem.graph, "Graph file").not_empty().required();
  add_text(*what_if, "PLACEMENT", request->placement, "Placement file").required();
  add_known_machine(*what_if, request->problem);
  add_names(*what_if, "--add", changes.added, "One more device like this one", "DEVICE");
  add_assignments<double>(*what_if, "--slow", request->slowed, 1e-6, "CHANNEL=X",
                          "A channel at so many times its speed", 1e6);
  add_names(*what_if, "--lose", changes.lost, "Without this device", "DEVICE");
  add_number<double>(
      *what_if, "--memory-share", [&changes](double share) { changes.memory = {share}; }, 1e-6, 1e6,
      "Every device with so many times its memory", "X");
  add_text(*what_if, "--method", request->method, "Places anew; a method of `dopp methods`")
      .type_name("NAME")
      .show_default();
  add_search(*what_if, request->search);
  remove_option(*what_if, "--objective");  // predictions are nominal
  find_option(*what_if, "--budget").description("Time for each new placement (default 2)");
  add_json(*what_if, request->json);
}

void add_diff(CommandLine& line) {
  const auto request = std::make_shared<DiffRequest>();
  CLI::App* diff = line.add(line.app(), "diff", "Say what moved between two placements",
                            "  dopp diff heft.json auto.json\n"
                            "  dopp diff before.json after.json --devices 4xA100 --json",
                            [request] { run(*request); });
  add_text(*diff, "BEFORE", request->before, "Placement file").required();
  add_text(*diff, "AFTER", request->after, "Placement file of the same graph").required();
  add_known_graph(*diff, request->problem.graph);
  add_known_machine(*diff, request->problem);
  add_unused_seed(*diff);
  add_json(*diff, request->json);
}

void add_explain(CommandLine& line) {
  const auto request = std::make_shared<ExplainRequest>();
  CLI::App* explain = line.add(line.app(), "explain", "Say why a node is where it is",
                               "  dopp explain graph.json placement.json matmul.3\n"
                               "  dopp explain graph.json placement.json matmul.3 --json",
                               [request] { run(*request); });
  add_text(*explain, "GRAPH", request->problem.graph, "Graph file").not_empty().required();
  add_text(*explain, "PLACEMENT", request->placement, "Placement file").required();
  add_text(*explain, "NODE", request->node, "Name of a node").required();
  add_known_machine(*explain, request->problem);
  add_unused_seed(*explain);
  add_json(*explain, request->json);
}

}  // namespace

void add_inspect_commands(CommandLine& line) {
  add_what_if(line);
  add_diff(line);
  add_explain(line);
}

}  // namespace doppler::app
