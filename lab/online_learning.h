// Learning from an engine (stage III) in experiments: emulated machines whose true costs differ
// from those that the placer sees, the placement of an oracle that knows them, and the learner. All
// functions are deterministic for a seed and safe to call from several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "doppler/base/stop.h"
#include "doppler/cost/problem.h"
#include "doppler/exec/duration_model.h"
#include "doppler/policy/policy.h"
#include "doppler/schedule/placement.h"

namespace doppler::lab {

// Says how far a machine's true costs are from the tables.
struct PerturbedMachine {
  double op_spread = 0.4;       // standard deviation of the logarithm of an op kind's factor
  double device_spread = 0.15;  // the same for devices; without it one op kind often decides alone
  double slow_link = 4.0;       // factor on transfers between one pair of devices, both ways
  double contention = 0.3;      // see exec::MachineSkew
  double jitter = 0.05;         // see exec::MachineSkew
};

// Returns the true costs of a machine that is drawn from the seed.
exec::MachineSkew draw_skew(const cost::Problem& problem, const PerturbedMachine& machine,
                            std::uint64_t seed);

// Returns the mean time of a number of runs on the machine, with the same noise for every
// placement.
double true_mean(const std::shared_ptr<const cost::Problem>& problem, const exec::MachineSkew& skew,
                 const schedule::Placement& placement, int runs);

// Returns the best placement found with knowledge of the machine: by rounds of search with its true
// costs, corrected for what contention does to the best so far; then by local search on the machine
// itself. Each takes `evaluations` evaluations.
schedule::Placement oracle_placement(const std::shared_ptr<const cost::Problem>& problem,
                                     const exec::MachineSkew& skew,
                                     const schedule::Placement& start, std::uint64_t evaluations,
                                     std::uint64_t seed);

// --- stage III ---

// A request to learn from the runs of an emulated engine.
struct OnlineRequest {
  std::shared_ptr<const cost::Problem> problem;  // with the costs that the placer believes in
  exec::MachineSkew truth;    // how the engine differs from these, which is what there is to learn
  policy::Policy policy;      // the policy to begin with
  schedule::Placement first;  // the placement of the first run
  std::uint64_t runs = 0;     // number of runs, on the engine's virtual clock
  std::uint64_t seed = 1;
  StopToken stop = {};  // ends it early; the caller then discards what it returns
};

// The placement that was in use after a number of runs.
struct OnlinePoint {
  std::uint64_t runs = 0;
  schedule::Placement placement;
};

// A learner: returns points in the order of runs, of which the last is the result. It must be
// deterministic for a seed, use one thread, and be safe to call from several threads. Without a
// learner the results of stage III are absent, and the pages say so.
using OnlineLearning = std::function<std::vector<OnlinePoint>(const OnlineRequest&)>;

// Returns the learner of `dopp train --stages real` (train/online/online_learner.h), which serves
// an emulated machine with a virtual clock.
OnlineLearning served_learning();

}  // namespace doppler::lab
