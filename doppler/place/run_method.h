// Runs one placement method inside a budget and measures what it gave.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "doppler/cost/problem.h"
#include "doppler/place/placer.h"
#include "doppler/place/result.h"

namespace doppler::place {

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
