// Memory limits: whether a placement's nominal run fits, and a repair for placements whose run does
// not.
//
// The memory in use depends on the run, so each answer simulates one. Where
// problem.memory_can_bind() is false, repairs return at once without a simulation.
#pragma once

#include <cstdint>
#include <string>

#include "doppler/cost/problem.h"
#include "doppler/schedule/memory.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"
#include "doppler/sim/simulator.h"

namespace doppler::place {

// Measures one placement after another, without allocating after the first. Not thread safe.
class MemoryFit {
 public:
  // `problem` must outlive this object.
  explicit MemoryFit(const cost::Problem& problem);

  // Simulates the nominal run and returns the bytes above capacity, summed over devices; 0 where
  // the run fits.
  double excess_bytes(const schedule::Placement& placement);
  bool fits(const schedule::Placement& placement) { return excess_bytes(placement) == 0.0; }
  // Returns the number of simulated runs so far.
  std::uint64_t evaluations() const { return evaluations_; }

  // These are about the placement that was measured last.
  double makespan() const { return timeline_.makespan; }
  const schedule::MemoryMeter& meter() const { return meter_; }
  // Says in words which device lacks how much memory, when, and what fills it; empty where the run
  // fits.
  std::string explain() const;

 private:
  const cost::Problem& problem_;
  sim::Simulator simulator_;
  schedule::MemoryMeter meter_;
  schedule::Timeline timeline_;
  std::uint64_t evaluations_ = 0;
};

// The outcome of a repair, successful or not.
struct Repair {
  schedule::Placement placement;  // the one with the least excess found
  double excess_bytes = 0.0;      // 0: it fits
  std::string explanation = {};   // what does not fit, empty where it fits
  bool proved = false;            // that no placement fits
  std::uint64_t evaluations = 0;  // simulated runs
};

// Moves units off overfull devices until the run fits: those that contribute most at the peak
// first, towards the devices with the most room. Where that fails, it starts again from the same
// devices with priorities in topological order (which frees memory early), from nodes dealt out
// evenly, from devices filled one after another, and from tightly packed parameters; then it goes
// on from the best of all these by single moves and swaps. Returns at once where the placement fits
// already. This is a heuristic: its failure does not prove that nothing fits.
Repair repair_memory(const cost::Problem& problem, schedule::Placement placement,
                     std::uint64_t seed);

// Returns the repaired placement. Throws InfeasibleError that says what does not fit where the
// repair fails.
schedule::Placement make_feasible(const cost::Problem& problem, schedule::Placement placement,
                                  std::uint64_t seed);

}  // namespace doppler::place
