// How well the simulator predicts an engine: a spread of placements is run on the engine and in the
// simulator, and the two are compared (docs/fidelity.md).
//
// Measurements are interleaved: every round runs every placement, in an order of its own, so that a
// machine that is disturbed or grows warm does so for all alike. A first round is not counted, and
// neither is the first run of a placement after another one, which finds the caches full of
// something else.
//
// Where others share the machine, the speed of real cores drifts by a tenth within seconds, and at
// times halves on both together, as if two virtual cores shared a real one. So a reference
// placement, the best predicted, runs before and after each placement's turn. Where it took
// kDisturbance longer than in the best quarter of its runs, the machine was disturbed, and the turn
// is repeated, up to kMostTurns times, of which the least disturbed counts. The measurement is
// divided by how much slower than usual the reference was. What differs between placements stays,
// what differs between moments goes.
//
// The measurement of a placement is the median over the rounds. Its noise is the difference between
// the medians of the odd and of the even rounds, as a share of the median of all: what two
// measurements of the same thing differ by. The noise of the machine is the median of that over the
// placements; where it is above kMostNoise, the machine was not quiet enough to say anything.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "doppler/analysis/placement_sample.h"
#include "doppler/base/statistics.h"
#include "doppler/cost/problem.h"
#include "doppler/exec/machine.h"
#include "doppler/place/registry.h"

namespace doppler::analysis {

inline constexpr double kMostNoise = 0.05;
inline constexpr double kDisturbance = 0.1;
inline constexpr int kMostTurns = 6;

// How the machine is compared with the simulator. The seed of `sample` takes the place of the
// machine's.
struct FidelitySettings : exec::MachineSettings {
  SampleSettings sample = {};  // at least 2 placements; its seed is that of everything
  int rounds = 5;              // at least 2
  int runs = 1;                // of a placement in a round, one after another: their median counts
  // Real cores: predict with the times that nodes and transfers of the reference placement took in
  // its runs, instead of the problem's costs.
  bool profile = false;
  std::function<void(const std::string&)> progress = {};  // told what is going on, where set
};

// One placement. Times are in the problem's unit.
struct FidelityPoint {
  std::string origin;  // see SampledPlacement
  double predicted = 0.0;
  double moved_bytes = 0.0;         // between devices
  std::vector<double> rounds = {};  // measured, one per round

  double measured = 0.0;  // the median
  double least = 0.0, most = 0.0;
  double noise = 0.0;
};

struct Fidelity {
  std::vector<FidelityPoint> points;
  int rounds = 0;  // fewer than asked for where interrupted
  bool interrupted = false;
  std::size_t refused = 0;  // placements that did not fit into memory or whose first run failed
  double time_scale = 1.0;  // of an emulated machine on the wall clock
  // Times of the reference placement, where it ran, and how many turns were repeated.
  std::vector<double> references = {};
  std::size_t repeated = 0;

  // Relative to what was measured: |predicted - measured| / measured, and with its sign.
  double median_error = 0.0, largest_error = 0.0;
  double bias = 0.0;                   // median; negative where the simulator predicts too little
  std::optional<double> spearman;      // over all placements
  std::size_t near_best = 0;           // placements measured within kNearShare of the best measured
  std::optional<double> near_kendall;  // tau-b among these
  // Over the pairs of placements that were measured to differ by more than twice the noise.
  PairAgreement pairs;
  double noise = 0.0;
  bool too_noisy() const { return noise > kMostNoise; }
};

// Returns the makespan that the simulator predicts for a run, by the problem's costs and in its
// unit.
double predict_makespan(const cost::Problem& problem, const schedule::Placement& placement,
                        schedule::Mode mode, schedule::Choice choice);

// Everything that follows from the points' origins, predictions and rounds. REQUIRES: at least two
// points, as many rounds of each, at least two.
Fidelity judge(std::vector<FidelityPoint> points);

// The interrupt of settings.sample ends the measurement; what is there counts from two whole rounds
// on. Throws ParameterError for settings that do not go together or a problem with one device,
// InfeasibleError where there are not two placements to compare, RunError where it was interrupted
// too early, and what the machine throws.
Fidelity measure_fidelity(std::shared_ptr<const cost::Problem> problem,
                          const place::Registry& methods, const FidelitySettings& settings);

}  // namespace doppler::analysis
