// The run loop for free links: a tensor reaches another device its transfer time after its
// producer's end, and holds nothing on the way. Internal to sim/. Not thread safe.
#pragma once

#include <cstdint>
#include <vector>

#include "doppler/sim/run_state.h"
#include "doppler/sim/upcoming.h"

namespace doppler::sim {

class FreeLinks {
 public:
  explicit FreeLinks(RunState& state);

  // Simulates a run and returns its makespan, or infinity where that is the cut-off or more.
  double run(const RunInput& input, schedule::Choice choice);

 private:
  template <schedule::Choice kChoice>
  double run_with(const RunInput& input);
  template <schedule::Choice kChoice, bool kJitter, bool kRecord, class DueTimes>
  double loop(const RunInput& input, DueTimes& next);
  template <bool kJitter, bool kRecord>
  double deliver_updates(NodeId node, std::uint32_t from, double time, const RunInput& input);

  RunState& state_;
  bool given_transfers_;                // no transfer time depends on bytes and links
  std::vector<double> free_at_;         // by device: end of the last node started there
  std::vector<std::uint32_t> started_;  // devices that start something at an instant of zero length
  PendingQueues pending_;
  FewDueTimes few_;
  ManyDueTimes many_;
  std::vector<std::uint32_t> update_seen_;  // by device: round in which it was last served
  std::uint32_t update_round_ = 0;
};

}  // namespace doppler::sim
