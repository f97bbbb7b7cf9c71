#include "doppler/sim/repeated_runs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "doppler/base/statistics.h"
#include "doppler/base/stop.h"
#include "doppler/schedule/memory.h"
#include "doppler/schedule/metrics.h"
#include "doppler/sim/simulator.h"
#include "doppler/sim/synchronous.h"

namespace doppler::sim {
namespace {

// The first run has the user's seed, so that `--runs 1` and the first of many are the same run.
std::uint64_t seed_of_run(std::uint64_t seed, int run) {
  return run == 0 ? seed : mix64(seed ^ mix64(static_cast<std::uint64_t>(run)));
}

}  // namespace

SimulateResult simulate(const cost::Problem& problem, const schedule::Placement& placement,
                        const SimulateSettings& settings) {
  DOPPLER_CHECK(settings.runs >= 1);
  const StopToken stop(settings.interrupt);
  const bool synchronous = settings.mode == schedule::Mode::kSynchronous;
  sim::Simulator simulator(problem);
  SimulateResult result;
  std::vector<double> makespans;
  for (int run = 0; run < settings.runs && (run == 0 || !stop.interrupted()); ++run) {
    const sim::RunOptions options{.choice = settings.choice,
                                  .jitter = settings.jitter,
                                  .seed = seed_of_run(settings.seed, run)};
    if (synchronous) {
      schedule::Timeline timeline =
          sim::run_synchronous(problem, placement, settings.barrier_time, options);
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
