// dopp methods, place, simulate and compare.
#include <algorithm>
#include <memory>

#include "app/command_line.h"
#include "app/option_kinds.h"

namespace doppler::app {
namespace {

constexpr int kMaxSeeds = 10'000;

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  std::string name;
  for (const char c : text + ",") {
    if (c != ',') {
      name += c;
      continue;
    }
    if (name.empty()) throw ParameterError(fmt::format("--methods: an empty name in '{}'", text));
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      throw ParameterError(fmt::format("--methods: '{}' stands twice", name));
    }
    names.push_back(std::exchange(name, {}));
  }
  return names;
}

void add_methods(CommandLine& line) {
  const auto request = std::make_shared<MethodsRequest>();
  CLI::App* methods = line.add(line.app(), "methods", "List the placement methods",
                               "  dopp methods", [request] { return *request; });
  add_json(*methods, request->json);
  add_unused_seed(*methods);
}

void add_place(CommandLine& line) {
  const auto request = std::make_shared<PlaceRequest>();
  CLI::App* place =
      line.add(line.app(), "place", "Find a placement",
               "  dopp place graph.json --devices 4xA100 -o placement.json\n"
               "  dopp place graph.json --devices uniform:4 --method heft\n"
               "  dopp place graph.json --devices 2n4xA100 --objective any-order --budget 20\n"
               "  dopp place graph.json --devices 8xV100 --evaluations 100000 --seed 3 --json",
               [request, &line] {
                 const bool learned = request->method == "policy" || request->method == "auto";
                 for (const char* option : {"--policy", "--samples", "--finetune"}) {
                   if (!learned && line.app().get_subcommand("place")->count(option) > 0) {
                     throw ParameterError(fmt::format("{}: only policy and auto use it", option));
                   }
                 }
                 check_budgets(request->search);
                 check_outputs({{"--output", request->output}}, request->json,
                               {request->graph, request->policy.file}, request->machine);
                 return *request;
               });
  place->add_option("GRAPH", request->graph, "Graph file")->required();
  add_machine(*place, request->machine);
  place->add_option("--method", request->method, "A method of `dopp methods`")
      ->type_name("NAME")
      ->capture_default_str();
  place->add_option("--policy", request->policy.file, "Of --method policy: a file of `dopp train`")
      ->type_name("FILE");
  add_number<std::uint64_t>(
      *place, "--samples", [request](std::uint64_t n) { request->policy.placer.samples = n; }, 1,
      1'000'000, "Of --method policy: placements tried, the best of which counts (default 64)",
      "N");
  add_number<double>(
      *place, "--finetune", [request](double s) { request->policy.placer.finetune_seconds = s; },
      0.0, 1e7, "Of --method policy: train on this graph first (default 0)", "SECONDS");
  add_search(*place, request->search);
  add_output(*place, "-o,--output", request->output, "Write the placement to this file");
  add_json(*place, request->json);
}

void add_simulate(CommandLine& line) {
  const auto request = std::make_shared<SimulateRequest>();
  CLI::App* simulate = line.add(
      line.app(), "simulate", "Run a placement in the simulator",
      "  dopp simulate graph.json placement.json --devices 4xA100 --trace trace.json\n"
      "  dopp simulate graph.json placement.json --devices 4xA100 --mode sync\n"
      "  dopp simulate graph.json placement.json --devices 4xA100 --choice random --runs 100",
      [request] {
        if (request->barrier > 0.0 && request->mode != schedule::Mode::kSynchronous) {
          throw ParameterError("--barrier: only --mode sync has barriers");
        }
        check_outputs({{"--trace", request->trace}}, request->json,
                      {request->graph, request->placement}, request->machine);
        return *request;
      });
  simulate->add_option("GRAPH", request->graph, "Graph file")->required();
  simulate->add_option("PLACEMENT", request->placement, "Placement file")->required();
  add_machine(*simulate, request->machine);
  add_rules(*simulate, request->mode, request->choice);
  add_number<int>(
      *simulate, "--runs", [request](int n) { request->runs = n; }, 1, kMaxRuns,
      "Runs, each with its own seed (default 1)", "N");
  add_number<double>(
      *simulate, "--jitter", [request](double s) { request->jitter = s; }, 0.0, 10.0,
      "Multiply every cost by exp(S x a normal number) (default 0)", "S");
  add_number<double>(
      *simulate, "--barrier", [request](double t) { request->barrier = t; }, 0.0, 1e300,
      "What a barrier of --mode sync takes, in the graph's time unit (default 0)", "TIME");
  add_seed(*simulate, request->seed);
  add_output(*simulate, "--trace", request->trace, "Write the first run as a Perfetto trace");
  add_json(*simulate, request->json);
}

void add_compare(CommandLine& line) {
  const auto request = std::make_shared<CompareRequest>();
  CLI::App* compare =
      line.add(line.app(), "compare", "Compare methods in a table",
               "  dopp compare graph.json --devices 4xA100\n"
               "  dopp compare a.json b.json --devices uniform:4 --methods heft,lns,auto"
               " --seeds 5",
               [request] {
                 check_budgets(request->search);
                 return *request;
               });
  compare->add_option("GRAPH", request->graphs, "Graph files")->required()->expected(1, 10'000);
  add_machine(*compare, request->machine);
  compare
      ->add_option_function<std::string>(
          "--methods", [request](const std::string& text) { request->methods = split_names(text); },
          "Methods of `dopp methods`, separated by commas (default: all that suit the size)")
      ->type_name("A,B,…");
  add_number<int>(
      *compare, "--seeds", [request](int n) { request->seeds = n; }, 1, kMaxSeeds,
      "Seeds per method, from --seed on (default 1)", "N");
  add_search(*compare, request->search);
  add_json(*compare, request->json);
}

}  // namespace

void add_place_commands(CommandLine& line) {
  add_methods(line);
  add_place(line);
  add_simulate(line);
  add_compare(line);
}

}  // namespace doppler::app
