#include "doppler/render/page/page_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "doppler/render/analysis_text.h"
#include "doppler/render/problem_text.h"
#include "doppler/schedule/bounds.h"
#include "doppler/sim/figures.h"
#include "doppler/sim/simulator.h"

namespace doppler::render {

render::PagePlacement page_placement(std::shared_ptr<const cost::Problem> problem,
                                     const schedule::Placement& placement,
                                     const PlacementLabels& labels) {
  render::PagePlacement shown{.name = labels.file,
                              .graph_path = labels.graph_path,
                              .method = labels.method,
                              .seed = labels.method_seed,
                              .problem = problem,
                              .timeline = sim::Simulator(*problem).timeline(placement),
                              .figures = sim::measure_figures(*problem, placement, labels.seed),
                              .bound = schedule::best_bound(*problem),
                              .subject = describe_problem(*problem, labels.graph_path),
                              .explanation = {}};
  shown.explanation = limits_text(*problem, placement, analysis::find_limits(*problem, placement));
  return shown;
}

std::string page_title(const render::Page& page) {
  const auto name = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();
  };
  if (page.placements.empty()) {
    return page.trainings.size() == 1 ? fmt::format("Training {}", page.trainings.front().name)
                                      : fmt::format("{} trainings", page.trainings.size());
  }
  const render::PagePlacement& first = page.placements.front();
  const auto all_same = [&](const auto& member) {
    return std::all_of(page.placements.begin(), page.placements.end(),
                       [&](const auto& other) { return member(other) == member(first); });
  };
  const bool one_graph = all_same([](const auto& p) { return p.graph_path; });
  const bool one_machine = all_same([](const auto& p) { return p.problem->topology().name(); });
  const std::string graph = one_graph ? name(first.graph_path) : "several graphs";
  return one_machine ? fmt::format("{} on {}", graph, first.problem->topology().name()) : graph;
}

}  // namespace doppler::render
