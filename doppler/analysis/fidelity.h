// Measures how well the simulator predicts an engine: a spread of placements is run on the engine
// and in the simulator, and the two are compared (docs/fidelity.md).
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

inline constexpr double kMostNoise = 0.05;   // a share of the measured time
inline constexpr double kDisturbance = 0.1;  // a share of the reference's usual time
inline constexpr int kMostTurns = 6;         // of one placement in one round

// Holds the settings with which the machine is compared with the simulator. The seed of `sample`
// replaces that of the machine.
struct FidelitySettings : exec::MachineSettings {
  SampleSettings sample = {};  // at least 2 placements; its seed and stop are those of everything
  int rounds = 5;              // at least 2
  int runs = 1;                // of a placement in a round, one after another; their median counts
  // If set, and on real cores only, predictions use the times that nodes and transfers of the
  // reference placement took in its runs, instead of the problem's costs.
  bool profile = false;
  // If set, this function is called with a description of each step, in words.
  std::function<void(const std::string&)> progress = {};
};

// One placement, predicted and measured. Times are in the problem's unit.
struct FidelityPoint {
  std::string origin;  // as in SampledPlacement
  double predicted = 0.0;
  double moved_bytes = 0.0;         // between devices
  std::vector<double> rounds = {};  // the measured times, one per round

  double measured = 0.0;           // the median over the rounds
  double least = 0.0, most = 0.0;  // over the rounds
  double noise = 0.0;              // as the top of this file defines it
};

// Tells how well predictions agree with measurements.
struct Fidelity {
  std::vector<FidelityPoint> points;
  int rounds = 0;  // fewer than asked for where it was stopped
  bool interrupted = false;
  std::size_t refused = 0;  // placements that did not fit into memory or whose first run failed
  double time_scale = 1.0;  // of an emulated machine on the wall clock
  // Times of the reference placement, where it ran, and how many turns were repeated.
  std::vector<double> references = {};
  std::size_t repeated = 0;

  double median_error = 0.0, largest_error = 0.0;  // of |predicted - measured| / measured
  // The median of (predicted - measured) / measured: negative where the simulator predicts too
  // little.
  double bias = 0.0;
  std::optional<double> spearman;      // rank correlation over all placements
  std::size_t near_best = 0;           // placements measured within kNearShare of the best measured
  std::optional<double> near_kendall;  // tau-b among these
  PairAgreement pairs;  // of those that were measured to differ by more than twice the noise
  double noise = 0.0;   // of the machine
  bool too_noisy() const { return noise > kMostNoise; }
};

// Returns the makespan that the simulator predicts for a run, by the problem's costs and in its
// unit.
double predict_makespan(const cost::Problem& problem, const schedule::Placement& placement,
                        schedule::Mode mode, schedule::Choice choice);

// Returns everything that follows from the points' origins, predictions and rounds. REQUIRES: there
// are at least two points, all with the same number of rounds, of which there are at least two.
Fidelity fidelity_of(std::vector<FidelityPoint> points);

// Measures the fidelity of the simulator on a problem. settings.sample.stop ends the measurement
// early; the rounds completed by then count, from two on. Throws ParameterError for settings that
// do not go together or a problem with one device, InfeasibleError where there are not two
// placements to compare, RunError where it was stopped before two rounds were complete, and
// whatever the machine throws.
Fidelity measure_fidelity(std::shared_ptr<const cost::Problem> problem,
                          const place::Registry& methods, const FidelitySettings& settings);

}  // namespace doppler::analysis
