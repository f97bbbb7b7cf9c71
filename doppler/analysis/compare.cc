#include "doppler/analysis/compare.h"

#include "doppler/base/error.h"

namespace doppler::analysis {
namespace {

// Branch and bound beyond this many nodes rarely ends within a budget.
constexpr std::size_t kLargestExact = 24;
// What learns from nothing hardly learns anything within a budget beyond this many.
constexpr std::size_t kLargestLearning = 200;

}  // namespace

std::vector<const place::Placer*> suitable_methods(const place::Registry& registry,
                                                   const cost::Problem& problem) {
  std::vector<const place::Placer*> methods;
  for (const place::Placer* method : registry.all()) {
    if (method->name() == "exact" && problem.node_count() > kLargestExact) continue;
    const bool learns = method->name() == "placeto" || method->name() == "gdp";
    if (learns && problem.node_count() > kLargestLearning) continue;
    // On devices of one kind this is `critical-path` again.
    if (method->name() == "critical-path-start" && problem.column_count() == 1) continue;
    methods.push_back(method);
  }
  return methods;
}

std::vector<ComparisonEntry> compare(const cost::Problem& problem,
                                     const std::vector<const place::Placer*>& methods,
                                     const CompareSettings& settings) {
  if (settings.seeds < 1) throw ParameterError("the number of seeds must be positive");
  std::vector<ComparisonEntry> entries;
  for (const place::Placer* method : methods) {
    for (int i = 0; i < settings.seeds; ++i) {
      if (settings.run.stop.stop_requested()) return entries;
      place::RunSettings run = settings.run;
      run.seed += static_cast<std::uint64_t>(i);
      if (settings.starting) settings.starting(method->name(), run.seed);
      ComparisonEntry entry{.method = std::string(method->name()), .seed = run.seed};
      try {
        entry.result = place::run_method(problem, *method, run);
      } catch (const InfeasibleError& error) {
        entry.failure = error.what();
      }
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

}  // namespace doppler::analysis
