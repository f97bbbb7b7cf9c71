// Machines whose true costs differ from those that a placer sees, for studies of learning from real
// runs: made from a seed, and what an oracle that knows them would do.
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

struct PerturbedMachine {
  double op_spread = 0.4;       // of the logarithm of what ops of a kind take longer or shorter
  double device_spread = 0.15;  // likewise of devices; without, one kind of op often decides alone
  double slow_link = 4.0;       // one pair of devices, both ways
  double contention = 0.3;      // see exec::MachineSkew
  double jitter = 0.05;
};

exec::MachineSkew hidden_deviation(const cost::Problem& problem, const PerturbedMachine& machine,
                                   std::uint64_t seed);

// The mean time of so many runs on the machine, the same noise for every placement.
double true_mean(const std::shared_ptr<const cost::Problem>& problem,
                 const exec::MachineSkew& deviation, const schedule::Placement& placement,
                 int runs);

// The best placement found by one who knows the machine and may run on it as often as he likes:
// search with its true costs, corrected by what contention does to the best so far, round after
// round; then local search on the machine itself. `evaluations` of each.
schedule::Placement oracle_placement(const std::shared_ptr<const cost::Problem>& problem,
                                     const exec::MachineSkew& deviation,
                                     const schedule::Placement& start, std::uint64_t evaluations,
                                     std::uint64_t seed);

// Stage III, learning from an engine, as the experiments ask for it. Whoever can do that gives a
// function of this kind; without one its results are absent, and the pages say so.

struct OnlineRequest {
  std::shared_ptr<const cost::Problem> problem;  // with the costs that the placer believes in
  exec::MachineSkew truth;    // of the emulated engine from these: what there is to learn
  policy::Policy policy;      // to begin with
  schedule::Placement first;  // of the first run
  std::uint64_t runs = 0;     // of the engine, on its virtual clock
  std::uint64_t seed = 1;
  StopToken stop = {};  // ends it early; the caller then discards what it returns
};

// The placement that served after so many runs.
struct OnlinePoint {
  std::uint64_t runs = 0;
  schedule::Placement placement;
};

// In the order of runs; the last one is the result. Deterministic for a seed; one thread; called
// from several threads at once.
using OnlineLearning = std::function<std::vector<OnlinePoint>(const OnlineRequest&)>;

// Stage III as the experiments ask for it: the careful learner of `dopp train --stages real`
// (train/online/online_learner.h) in service on an emulated machine with a virtual clock.

// Thread safe, and the same bits for a seed.
OnlineLearning served_learning();

}  // namespace doppler::lab
