// What one method gave on one problem, with everything that is printed beside it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "doppler/cost/problem.h"
#include "doppler/place/placer.h"
#include "doppler/schedule/bounds.h"
#include "doppler/schedule/metrics.h"
#include "doppler/schedule/placement.h"

namespace doppler::place {

struct Result {
  std::string method;
  std::uint64_t seed = 0;
  schedule::Objective objective = schedule::Objective::kNominal;

  schedule::Placement placement = {};
  schedule::Figures figures = {};
  schedule::Bound bound = {};
  // nominal / bound - 1; 0 where the bound is met, infinite where the bound is 0 and the result
  // not.
  double gap = 0.0;
  bool optimal = false;  // the bound is met, or the method proved it

  double seconds = 0.0;           // the method's own time, without the figures
  std::uint64_t evaluations = 0;  // simulated runs of the method; replays the result as a budget
  bool timed = false;             // a clock, not a count of evaluations, ended the search
  bool interrupted = false;       // the caller asked to stop; this is the best until then
  std::string note = {};          // the method's own remark
  std::string warning = {};       // what makes the placement doubtful

  // Where the objective is another: the best nominal makespan that a short search of the same
  // method found, to say what the objective costs nominally.
  std::optional<double> nominal_reference = std::nullopt;
};

// Runs one placement method inside a budget and measures what it gave.

// What searches get where the caller names no budget.
inline constexpr double kDefaultBudgetSeconds = 5.0;

struct RunSettings {
  std::uint64_t seed = 1;
  schedule::Objective objective = schedule::Objective::kNominal;
  // At most one of the two; with neither, kDefaultBudgetSeconds. Methods in one pass use neither.
  std::optional<double> budget_seconds = std::nullopt;
  std::optional<std::uint64_t> max_evaluations = std::nullopt;
  int threads = 1;
  // Set by another thread or a signal handler to stop early with the best so far; may be null.
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(const place::Progress&)> progress = {};
};

// A time budget covers the search and the runs behind the figures: time for the latter is kept
// back. With a count of evaluations the result has the same bits on any number of threads. Throws
// ParameterError for a budget that is not positive or for two budgets, and what the method throws.
Result run_method(const cost::Problem& problem, const place::Placer& method,
                  const RunSettings& settings);

}  // namespace doppler::place
