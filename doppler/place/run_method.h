// Runs one placement method inside a budget and measures the placement that it returns.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "doppler/cost/problem.h"
#include "doppler/place/registry.h"
#include "doppler/schedule/bounds.h"
#include "doppler/schedule/metrics.h"
#include "doppler/schedule/placement.h"

namespace doppler::place {

// Holds the placement that one method found for one problem, with everything that is printed beside
// it.
struct Result {
  std::string method;
  std::uint64_t seed = 0;
  schedule::Objective objective = schedule::Objective::kNominal;

  schedule::Placement placement = {};
  schedule::Figures figures = {};
  schedule::Bound bound = {};
  // The nominal makespan / bound - 1: 0 where the bound is met, infinite where the bound is 0 and
  // the makespan is not.
  double gap = 0.0;
  bool optimal = false;  // the bound is met, or the method proved that nothing is better

  double seconds = 0.0;           // the method's own time, without the figures
  std::uint64_t evaluations = 0;  // simulated runs; as max_evaluations they replay the result
  bool timed = false;             // a clock, not a count of evaluations, ended the search
  bool interrupted = false;       // the caller asked to stop: this is the best until then
  std::string note = {};          // the method's own remark
  std::string warning = {};       // what makes the placement doubtful

  // Present where the objective is not the nominal one: the best nominal makespan that a short
  // search of the same method found, which shows what the objective costs nominally.
  std::optional<double> nominal_reference = std::nullopt;
};

// The time that searches get where the caller names no budget.
inline constexpr double kDefaultBudgetSeconds = 5.0;

struct RunSettings {
  std::uint64_t seed = 1;
  schedule::Objective objective = schedule::Objective::kNominal;
  // At most one of the two may be set; without any, the budget is kDefaultBudgetSeconds. One-pass
  // methods use neither.
  std::optional<double> budget_seconds = std::nullopt;
  std::optional<std::uint64_t> max_evaluations = std::nullopt;
  int threads = 1;
  // Stops the method early, which then returns its best placement so far.
  StopToken stop = {};
  std::function<void(const place::Progress&)> progress = {};
};

// Returns the placement of the method and its figures. A time budget covers both the search and the
// runs behind the figures, for which time is kept back. With a count of evaluations the result is
// bit-identical on any number of threads. Throws ParameterError for a budget that is not positive
// or for two budgets, and whatever the method throws.
Result run_method(const cost::Problem& problem, const place::Placer& method,
                  const RunSettings& settings);

}  // namespace doppler::place
