// dopp whatif
#include "app/commands.h"
#include "app/interrupt.h"
#include "app/placement_source.h"
#include "app/terminal.h"
#include "doppler/api/doppler.h"
#include "doppler/render/analysis_text.h"
#include "doppler/render/problem_text.h"

namespace doppler::app {

void run(const WhatIfRequest& request) {
  // There are several searches: each gets less than a placement that is to be used.
  constexpr double kBudgetSeconds = 2.0;
  const place::Registry methods = api::default_methods();
  const place::Placer& method = methods.find(request.method);
  ProgressLine progress("reading " + request.graph);
  std::vector<std::string> warnings;
  const SourcedPlacement sourced =
      PlacementSource(request.graph, request.machine).read(request.placement, warnings);
  analysis::WhatIfSettings settings{.problem = {.constraints = sourced.demanded},
                                    .seed = request.search.seed,
                                    .budget_seconds = request.search.budget_seconds,
                                    .max_evaluations = request.search.max_evaluations,
                                    .threads = request.search.threads,
                                    .stop = StopToken(catch_interrupts())};
  if (!settings.budget_seconds && !settings.max_evaluations) {
    settings.budget_seconds = kBudgetSeconds;
  }
  settings.starting = [&](const std::string& change) { progress.say("what if: " + change); };
  const std::vector<analysis::WhatIfCase> cases =
      analysis::what_if(sourced.problem, sourced.placement, request.changes, method, settings);
  progress.finish();
  for (const std::string& warning : warnings) print_warning(warning);
  print(request.json ? render::what_if_json(*sourced.problem, sourced.graph_path, cases)
                     : render::problem_text(*sourced.problem, sourced.graph_path) + "\n" +
                           render::what_if_text(*sourced.problem, cases));
}

}  // namespace doppler::app
