// dopp compare.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/command_line.h"
#include "app/option_groups.h"
#include "app/subject.h"
#include "app/terminal.h"
#include "doppler/analysis/compare.h"
#include "doppler/api/doppler.h"
#include "doppler/base/error.h"
#include "doppler/render/problem_text.h"
#include "doppler/render/result_text.h"

namespace doppler::app {
namespace {

constexpr int kMaxSeeds = 10'000;

struct CompareRequest {
  std::vector<std::string> graphs;
  api::ProblemSource problem;        // without a graph
  std::vector<std::string> methods;  // empty for all that suit the graph
  analysis::CompareSettings settings;
  bool json = false;
};

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

// Throws if no method gave anything on any graph: InfeasibleError if one failed, RunError if none
// came to its end.
void require_a_result(const std::vector<render::Comparison>& comparisons) {
  std::string failure;
  for (const render::Comparison& comparison : comparisons) {
    for (const analysis::ComparisonEntry& entry : comparison.entries) {
      if (entry.result) return;
      failure = entry.failure;
    }
  }
  if (failure.empty()) throw RunError("interrupted before the first result");
  throw InfeasibleError(failure);
}

void run(const CompareRequest& request) {
  const place::Registry registry = api::default_methods();
  std::vector<const place::Placer*> named;
  for (const std::string& name : request.methods) named.push_back(&registry.find(name));

  analysis::CompareSettings settings = request.settings;
  // Every graph is read first, so that a mistyped name does not end a comparison half way.
  std::vector<Subject> subjects;
  for (const std::string& path : request.graphs) {
    ProgressLine progress("reading " + path);
    api::ProblemSource source = request.problem;
    source.graph = path;
    subjects.push_back(load_subject(source, progress));
    progress.finish();
  }
  const StopToken stop = interrupts();
  settings.run.stop = stop;
  std::vector<render::Comparison> comparisons;
  for (const auto& [problem, origin] : subjects) {
    const std::string& path = request.graphs[comparisons.size()];
    ProgressLine progress("comparing " + path);
    settings.starting = [&](std::string_view method, std::uint64_t seed) {
      progress.say(fmt::format("{}: {}, seed {}", path, method, seed));
    };
    const auto methods = named.empty() ? analysis::suitable_methods(registry, *problem) : named;
    comparisons.push_back({origin, problem, analysis::compare(*problem, methods, settings)});
    progress.finish();
    if (!request.json) {
      print(fmt::format("{}{}\n{}", comparisons.size() > 1 ? "\n" : "",
                        render::problem_text(*problem, path),
                        render::compare_text(*problem, comparisons.back().entries)));
    }
    if (stop.stop_requested()) break;
  }
  if (request.json) print(render::compare_json(comparisons));
  if (stop.stop_requested()) print_warning("interrupted: not everything was compared");
  require_a_result(comparisons);
}

}  // namespace

void add_compare_command(CommandLine& line) {
  const auto request = std::make_shared<CompareRequest>();
  CLI::App* compare =
      line.add(line.app(), "compare", "Compare methods in a table",
               "  dopp compare graph.json --devices 4xA100\n"
               "  dopp compare a.json b.json --devices uniform:4 --methods heft,lns,auto"
               " --seeds 5",
               [request] {
                 check_budgets(request->settings.run);
                 run(*request);
               });
  add_texts(*compare, "GRAPH", request->graphs, "Graph files").required().expected(1, 10'000);
  add_machine(*compare, request->problem);
  add_text(
      *compare, "--methods",
      [request](const std::string& text) { request->methods = split_names(text); },
      "Methods of `dopp methods`, separated by commas (default: all that suit the size)", "A,B,…");
  add_number<int>(*compare, "--seeds", request->settings.seeds, 1, kMaxSeeds,
                  "Seeds per method, from --seed on (default 1)", "N");
  add_search(*compare, request->settings.run);
  add_json(*compare, request->json);
}

}  // namespace doppler::app
