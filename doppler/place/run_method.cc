#include "doppler/place/run_method.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/base/stop.h"
#include "doppler/sim/repeated_runs.h"
#include "doppler/sim/simulator.h"

namespace doppler::place {
namespace {

using Clock = std::chrono::steady_clock;

// The part of a budget that a short nominal search gets where another objective is minimised.
constexpr double kReferenceShare = 0.1;
// The figures take at most this part of a budget from the search, however slow a run is.
constexpr double kLargestReserve = 0.5;

void check(const RunSettings& settings) {
  if (settings.budget_seconds && settings.max_evaluations) {
    throw ParameterError("give a budget in seconds or a number of evaluations, not both");
  }
  if (settings.budget_seconds &&
      !(std::isfinite(*settings.budget_seconds) && *settings.budget_seconds > 0.0)) {
    throw ParameterError("the budget must be a positive number of seconds");
  }
  if (settings.max_evaluations && *settings.max_evaluations == 0) {
    throw ParameterError("the number of evaluations must be positive");
  }
  if (settings.threads < 1) throw ParameterError("the number of threads must be positive");
}

// About how long the figures will take, from one run of a placement that spreads the nodes.
double figures_seconds(const cost::Problem& problem, int threads) {
  std::vector<DeviceId> device(problem.node_count());
  for (std::uint32_t unit = 0; unit < problem.unit_count(); ++unit) {
    const auto allowed = problem.allowed_devices(problem.unit(unit).front());
    for (const NodeId node : problem.unit(unit)) {
      device[node.index()] = allowed[unit % allowed.size()];
    }
  }
  const schedule::Placement spread = schedule::with_b_levels(problem, std::move(device));
  sim::Simulator simulator(problem);
  const Clock::time_point start = Clock::now();
  simulator.makespan(spread, cost::kInfinity);
  return 2.0 * sim::figure_runs(problem) * seconds_since(start) / threads;
}

void measure(const cost::Problem& problem, int threads, Result& result) {
  result.figures = sim::measure_figures(problem, result.placement, result.seed, threads);
  result.bound = schedule::best_bound(problem);
  if (schedule::meets(result.figures.nominal, result.bound)) {
    result.optimal = true;
  } else {
    result.gap = result.figures.nominal / result.bound.value - 1.0;
  }
}

}  // namespace

Result run_method(const cost::Problem& problem, const place::Placer& method,
                  const RunSettings& settings) {
  check(settings);
  Result result{
      .method = std::string(method.name()), .seed = settings.seed, .objective = settings.objective};

  place::PlaceRequest request{.seed = settings.seed,
                              .objective = settings.objective,
                              .max_evaluations = 0,
                              .stop = settings.stop,
                              .threads = settings.threads,
                              .progress = settings.progress};
  double search_seconds = 0.0;
  if (method.uses_budget()) {
    if (settings.max_evaluations) {
      request.max_evaluations = *settings.max_evaluations;
    } else {
      result.timed = true;
      const double budget = settings.budget_seconds.value_or(kDefaultBudgetSeconds);
      search_seconds =
          budget - std::min(figures_seconds(problem, settings.threads), kLargestReserve * budget);
      request.stop = settings.stop.within_seconds(search_seconds);
    }
  }

  if (settings.objective != schedule::Objective::kNominal) {
    place::PlaceRequest reference = request;
    reference.objective = schedule::Objective::kNominal;
    if (request.max_evaluations != 0) {
      const double share = kReferenceShare * static_cast<double>(request.max_evaluations);
      reference.max_evaluations = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(share));
    } else if (result.timed) {
      reference.stop = request.stop.within_seconds(kReferenceShare * search_seconds);
    }
    reference.progress = nullptr;
    const place::PlaceResult nominal = method.place(problem, reference);
    sim::Simulator simulator(problem);
    result.nominal_reference = simulator.makespan(nominal.placement, cost::kInfinity);
  }

  const Clock::time_point start = Clock::now();
  place::PlaceResult placed = method.place(problem, request);
  result.seconds = seconds_since(start);
  result.placement = std::move(placed.placement);
  result.evaluations = placed.evaluations;
  result.interrupted = settings.stop.stop_requested();
  result.note = std::move(placed.note);
  result.warning = std::move(placed.warning);
  measure(problem, settings.threads, result);
  if (placed.proved_optimal && settings.objective == schedule::Objective::kNominal) {
    result.bound = {.name = placed.prover.empty() ? result.method : placed.prover,
                    .value = result.figures.nominal};
    result.gap = 0.0;
    result.optimal = true;
  }
  return result;
}

}  // namespace doppler::place
