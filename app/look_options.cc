// dopp report, whatif, diff and explain.
#include <memory>
#include <utility>

#include "app/command_line.h"
#include "app/option_kinds.h"

namespace doppler::app {
namespace {

void add_known_graph(CLI::App& app, std::string& graph) {
  app.add_option("--graph", graph, "Graph file (default: that of the placement)")
      ->check(not_empty())
      ->type_name("FILE");
}

void add_report(CommandLine& line) {
  const auto request = std::make_shared<ReportRequest>();
  CLI::App* report =
      line.add(line.app(), "report", "Write a page that shows placements and trainings",
               "  dopp report placement.json -o report.html\n"
               "  dopp report heft.json auto.json -o comparison.html\n"
               "  dopp report trained/ placement.json -o report.html",
               [request] {
                 std::vector<std::string> inputs = request->inputs;
                 inputs.push_back(request->graph);
                 check_outputs({{"--output", request->output}}, request->json, std::move(inputs),
                               request->machine);
                 return *request;
               });
  report
      ->add_option("PLACEMENT|FOLDER", request->inputs,
                   "Placement files, and folders of `dopp train`")
      ->required()
      ->expected(1, 1000);
  add_output(*report, "-o,--output", request->output, "Write the page to this file")->required();
  add_known_graph(*report, request->graph);
  add_known_machine(*report, request->machine);
  add_seed(*report, request->seed);
  add_json(*report, request->json);
}

// A list of names in one option, which may be given more than once.
void add_names(CLI::App& app, const std::string& option, std::vector<std::string>& names,
               const std::string& help, const std::string& type) {
  app.add_option(option, names, help)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name(type + ",…");
}

void add_what_if(CommandLine& line) {
  struct Given {
    WhatIfRequest request;
    std::map<std::string, double> slowed;
  };
  const auto given = std::make_shared<Given>();
  WhatIfRequest& request = given->request;
  CLI::App* what_if =
      line.add(line.app(), "whatif", "Predict what a change of the machine would do",
               "  dopp whatif graph.json placement.json\n"
               "  dopp whatif graph.json placement.json --lose gpu0,gpu1 --budget 10\n"
               "  dopp whatif graph.json placement.json --slow gpu0.out=0.25 --memory-share 0.5",
               [given] {
                 check_budgets(given->request.search);
                 given->request.changes.slowed.assign(given->slowed.begin(), given->slowed.end());
                 return given->request;
               });
  what_if->add_option("GRAPH", request.graph, "Graph file")->check(not_empty())->required();
  what_if->add_option("PLACEMENT", request.placement, "Placement file")->required();
  add_known_machine(*what_if, request.machine);
  add_names(*what_if, "--add", request.changes.added, "One more device like this one", "DEVICE");
  add_assignments<double>(*what_if, "--slow", given->slowed, 1e-6, "CHANNEL=X",
                          "A channel at so many times its speed", 1e6);
  add_names(*what_if, "--lose", request.changes.lost, "Without this device", "DEVICE");
  add_number<double>(
      *what_if, "--memory-share",
      [given](double share) { given->request.changes.memory = {share}; }, 1e-6, 1e6,
      "Every device with so many times its memory", "X");
  what_if->add_option("--method", request.method, "Places anew; a method of `dopp methods`")
      ->type_name("NAME")
      ->capture_default_str();
  add_search(*what_if, request.search);
  what_if->remove_option(what_if->get_option("--objective"));  // predictions are nominal
  what_if->get_option("--budget")->description("Time for each new placement (default 2)");
  add_json(*what_if, request.json);
}

void add_diff(CommandLine& line) {
  const auto request = std::make_shared<DiffRequest>();
  CLI::App* diff = line.add(line.app(), "diff", "Say what moved between two placements",
                            "  dopp diff heft.json auto.json\n"
                            "  dopp diff before.json after.json --devices 4xA100 --json",
                            [request] { return *request; });
  diff->add_option("BEFORE", request->before, "Placement file")->required();
  diff->add_option("AFTER", request->after, "Placement file of the same graph")->required();
  add_known_graph(*diff, request->graph);
  add_known_machine(*diff, request->machine);
  add_unused_seed(*diff);
  add_json(*diff, request->json);
}

void add_explain(CommandLine& line) {
  const auto request = std::make_shared<ExplainRequest>();
  CLI::App* explain = line.add(line.app(), "explain", "Say why a node is where it is",
                               "  dopp explain graph.json placement.json matmul.3\n"
                               "  dopp explain graph.json placement.json matmul.3 --json",
                               [request] { return *request; });
  explain->add_option("GRAPH", request->graph, "Graph file")->check(not_empty())->required();
  explain->add_option("PLACEMENT", request->placement, "Placement file")->required();
  explain->add_option("NODE", request->node, "Name of a node")->required();
  add_known_machine(*explain, request->machine);
  add_unused_seed(*explain);
  add_json(*explain, request->json);
}

}  // namespace

void add_look_commands(CommandLine& line) {
  add_report(line);
  add_what_if(line);
  add_diff(line);
  add_explain(line);
}

}  // namespace doppler::app
