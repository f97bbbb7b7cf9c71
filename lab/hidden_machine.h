// Machines whose true costs differ from those that a placer sees, for studies of learning from real
// runs: made from a seed, and what an oracle that knows them would do.
#pragma once

#include <cstdint>
#include <memory>

#include "doppler/cost/problem.h"
#include "doppler/exec/duration_model.h"
#include "doppler/schedule/placement.h"

namespace doppler::lab {

struct HiddenMachine {
  double op_spread = 0.4;       // of the logarithm of what ops of a kind take longer or shorter
  double device_spread = 0.15;  // likewise of devices; without, one kind of op often decides alone
  double slow_link = 4.0;       // one pair of devices, both ways
  double contention = 0.3;      // see exec::Deviation
  double jitter = 0.05;
};

exec::Deviation hidden_deviation(const cost::Problem& problem, const HiddenMachine& machine,
                                 std::uint64_t seed);

// The mean time of so many runs on the machine, the same noise for every placement.
double true_mean(const std::shared_ptr<const cost::Problem>& problem,
                 const exec::Deviation& deviation, const schedule::Placement& placement, int runs);

// The best placement found by one who knows the machine and may run on it as often as he likes:
// search with its true costs, corrected by what contention does to the best so far, round after
// round; then local search on the machine itself. `evaluations` of each.
schedule::Placement oracle_placement(const std::shared_ptr<const cost::Problem>& problem,
                                     const exec::Deviation& deviation,
                                     const schedule::Placement& start, std::uint64_t evaluations,
                                     std::uint64_t seed);

}  // namespace doppler::lab
