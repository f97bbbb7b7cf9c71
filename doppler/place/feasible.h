// Memory limits: whether a placement's nominal run fits, and a repair for those that do not.
//
// Memory in use depends on the run, so every judgement simulates it. Where
// problem.memory_can_bind() is false nothing here costs a simulation unless asked for the makespan.
#pragma once

#include <cstdint>
#include <string>

#include "doppler/cost/problem.h"
#include "doppler/schedule/memory.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"
#include "doppler/sim/simulator.h"

namespace doppler::place {

// Measures one placement after another without allocating. Not thread safe.
class MemoryFit {
 public:
  // `problem` must outlive the gauge.
  explicit MemoryFit(const cost::Problem& problem);

  // Simulates the nominal run. Bytes above capacity, summed over devices; 0 where it fits.
  double excess_bytes(const schedule::Placement& placement);
  bool fits(const schedule::Placement& placement) { return excess_bytes(placement) == 0.0; }

  // Of the placement last measured.
  double makespan() const { return timeline_.makespan; }
  const schedule::MemoryMeter& meter() const { return meter_; }
  // In words: which device lacks how much, when, and what fills it. Empty where the run fits.
  std::string explain() const;

 private:
  const cost::Problem& problem_;
  sim::Simulator simulator_;
  schedule::MemoryMeter meter_;
  schedule::Timeline timeline_;
};

struct Repair {
  schedule::Placement placement;  // the one with the least excess found
  double excess_bytes = 0.0;      // 0: it fits
  std::string explanation = {};   // what does not fit, empty where it fits
};

// Moves units off overfull devices until the run fits: those that contribute most at the peak
// first, towards the devices with the most room. Where that fails it starts again: from the same
// devices with priorities in topological order, which frees memory early; from nodes dealt out
// evenly; from devices filled one after another; from parameters packed tightly; and walks on from
// the best of all these, a move or a swap at a time. Returns at once where the placement fits
// already. A heuristic: failing proves nothing.
Repair repair_memory(const cost::Problem& problem, schedule::Placement placement,
                     std::uint64_t seed);

// The repaired placement; throws InfeasibleError that says what does not fit where none was found.
schedule::Placement make_feasible(const cost::Problem& problem, schedule::Placement placement,
                                  std::uint64_t seed);

}  // namespace doppler::place
