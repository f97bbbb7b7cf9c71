// dopp compare
#include <fmt/format.h>

#include <algorithm>

#include "app/commands.h"
#include "app/load.h"
#include "app/search_options.h"
#include "app/terminal.h"
#include "doppler/analysis/compare.h"
#include "doppler/api/doppler.h"
#include "doppler/base/error.h"
#include "doppler/render/problem_text.h"
#include "doppler/render/result_json.h"
#include "doppler/render/result_text.h"

namespace doppler::app {
namespace {

// Fails where no method gave anything on any graph.
void require_a_result(const std::vector<render::Comparison>& comparisons) {
  std::string failure = "interrupted before the first result";
  for (const render::Comparison& comparison : comparisons) {
    for (const analysis::Entry& entry : comparison.entries) {
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

  analysis::CompareSettings settings{.run = run_settings(request.search), .seeds = request.seeds};
  std::vector<render::Comparison> comparisons;
  for (const std::string& path : request.graphs) {
    ProgressLine progress("reading " + path);
    const auto [problem, origin] = load_subject(path, request.machine, progress);
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
    if (settings.run.stop.stop_requested()) break;
  }
  if (request.json) print(render::compare_json(comparisons));
  require_a_result(comparisons);
}

}  // namespace doppler::app
