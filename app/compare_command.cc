// dopp compare
#include <fmt/format.h>

#include <algorithm>

#include "app/commands.h"
#include "app/load.h"
#include "app/search_options.h"
#include "app/terminal.h"
#include "doppler/api/doppler.h"
#include "doppler/base/error.h"
#include "doppler/study/compare.h"
#include "doppler/study/describe.h"
#include "doppler/study/result_json.h"
#include "doppler/study/result_text.h"

namespace doppler::app {
namespace {

// Fails where no method gave anything on any graph.
void require_a_result(const std::vector<study::Comparison>& comparisons) {
  std::string failure = "interrupted before the first result";
  for (const study::Comparison& comparison : comparisons) {
    for (const study::Entry& entry : comparison.entries) {
      if (entry.result) return;
      failure = entry.failure;
    }
  }
  throw InfeasibleError(failure);
}

}  // namespace

void run(const CompareRequest& request) {
  const place::Registry registry = api::default_methods();
  std::vector<const place::Placer*> named;
  for (const std::string& name : request.methods) named.push_back(&registry.find(name));

  study::CompareSettings settings{.run = run_settings(request.search), .seeds = request.seeds};
  std::vector<study::Comparison> comparisons;
  for (const std::string& path : request.graphs) {
    ProgressLine progress("reading " + path);
    const auto [problem, origin] = load_subject(path, request.machine, progress);
    settings.starting = [&](std::string_view method, std::uint64_t seed) {
      progress.say(fmt::format("{}: {}, seed {}", path, method, seed));
    };
    const auto methods = named.empty() ? study::suitable_methods(registry, *problem) : named;
    comparisons.push_back({origin, problem, study::compare(*problem, methods, settings)});
    progress.finish();
    if (!request.json) {
      print(fmt::format("{}{}\n{}", comparisons.size() > 1 ? "\n" : "",
                        study::describe_problem(*problem, path),
                        study::compare_text(*problem, comparisons.back().entries)));
    }
    if (settings.run.interrupt->load()) break;
  }
  if (request.json) print(study::compare_json(comparisons));
  require_a_result(comparisons);
}

}  // namespace doppler::app
