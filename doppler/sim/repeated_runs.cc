#include "doppler/sim/repeated_runs.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/base/parallel.h"
#include "doppler/base/rng.h"
#include "doppler/base/statistics.h"
#include "doppler/base/stop.h"
#include "doppler/schedule/memory.h"
#include "doppler/schedule/metrics.h"
#include "doppler/sim/simulator.h"

namespace doppler::sim {

namespace {

// Bytes that cross between devices: each tensor once per destination.
double bytes_moved(const cost::Problem& problem, const schedule::Timeline& timeline) {
  std::vector<std::uint64_t> moves;
  moves.reserve(timeline.transfers.size());
  for (const schedule::TransferRun& transfer : timeline.transfers) {
    moves.push_back(std::uint64_t{transfer.tensor.value()} << 32 | transfer.to.value());
  }
  std::sort(moves.begin(), moves.end());
  moves.erase(std::unique(moves.begin(), moves.end()), moves.end());
  double total = 0.0;
  for (const std::uint64_t move : moves) {
    total += problem.bytes(TensorId(static_cast<std::uint32_t>(move >> 32)));
  }
  return total;
}

// Returns the caller's seed for the first run, so that a single run equals the first of many.
std::uint64_t seed_of_run(std::uint64_t seed, int run) {
  return run == 0 ? seed : mix64(seed ^ mix64(static_cast<std::uint64_t>(run)));
}

}  // namespace

int figure_runs(const cost::Problem& problem) {
  return problem.node_count() > 10'000 ? 10 : 100;
}

std::uint64_t figure_seed(std::uint64_t seed, int run) {
  return mix64(mix64(seed) + static_cast<std::uint64_t>(run));
}

schedule::Figures measure_figures(const cost::Problem& problem,
                                  const schedule::Placement& placement, std::uint64_t seed,
                                  int threads) {
  const int runs = figure_runs(problem);
  schedule::Figures figures;

  std::vector<double> robust(static_cast<std::size_t>(runs)), any_order(robust.size());
  // A few blocks per thread; results depend on the run's number only.
  const std::size_t blocks =
      std::min<std::size_t>(robust.size(), static_cast<std::size_t>(std::max(threads, 1)));
  parallel_for(blocks, threads, [&](std::size_t block) {
    Simulator simulator(problem);
    for (std::size_t run = block; run < robust.size(); run += blocks) {
      const std::uint64_t run_seed = figure_seed(seed, static_cast<int>(run));
      robust[run] = simulator.makespan(placement, {.jitter = kRobustJitter, .seed = run_seed});
      any_order[run] =
          simulator.makespan(placement, {.choice = schedule::Choice::kRandom, .seed = run_seed});
    }
  });
  figures.robust = schedule::summarise(robust);
  figures.any_order = schedule::summarise(any_order);

  Simulator simulator(problem);
  const schedule::Timeline timeline = simulator.timeline(placement);
  figures.nominal = timeline.makespan;
  figures.bytes_moved = bytes_moved(problem, timeline);
  schedule::MemoryMeter meter(problem);
  meter.measure(timeline);
  figures.peak_memory_bytes.assign(meter.peak_bytes().begin(), meter.peak_bytes().end());
  figures.excess_memory_bytes = meter.excess_bytes();
  return figures;
}

SimulateResult simulate(const cost::Problem& problem, const schedule::Placement& placement,
                        const SimulateSettings& settings) {
  DOPPLER_CHECK(settings.runs >= 1);
  const bool synchronous = settings.mode == schedule::Mode::kSynchronous;
  Simulator simulator(problem);
  SimulateResult result;
  std::vector<double> makespans;
  for (int run = 0; run < settings.runs && (run == 0 || !settings.stop.stop_requested()); ++run) {
    const RunOptions options{.choice = settings.choice,
                             .jitter = settings.jitter,
                             .seed = seed_of_run(settings.seed, run)};
    if (synchronous) {
      schedule::Timeline timeline =
          run_synchronous(problem, placement, settings.barrier_time, options);
      makespans.push_back(timeline.makespan);
      if (run == 0) result.timeline = std::move(timeline);
    } else if (run == 0) {
      simulator.timeline(placement, options, result.timeline);
      makespans.push_back(result.timeline.makespan);
    } else {
      makespans.push_back(simulator.makespan(placement, options));
    }
  }
  result.runs = static_cast<int>(makespans.size());
  result.min = *std::min_element(makespans.begin(), makespans.end());
  result.max = *std::max_element(makespans.begin(), makespans.end());
  result.median = median(std::move(makespans));

  for (const schedule::ResourceUse& use :
       schedule::measure_metrics(problem, result.timeline).devices) {
    result.utilisation.push_back(use.utilisation);
  }
  schedule::MemoryMeter meter(problem);
  meter.measure(result.timeline);
  result.peak_memory_bytes.assign(meter.peak_bytes().begin(), meter.peak_bytes().end());
  result.excess_memory_bytes = meter.excess_bytes();
  result.failure = schedule::explain_excess(problem, meter);
  return result;
}

}  // namespace doppler::sim
