// The run loop for free links: a tensor reaches another device its transfer time after its
// producer's end, and holds nothing on the way.
#pragma once

#include <cstdint>
#include <vector>

#include "doppler/sim/run_state.h"

namespace doppler::sim {

class FreeLinks {
 public:
  explicit FreeLinks(RunState& state);

  // The makespan, or infinity where it is the cut-off or more.
  double run(const RunInput& input, schedule::Choice choice);

 private:
  template <schedule::Choice kChoice, bool kJitter, bool kRecord>
  double loop(const RunInput& input);
  template <schedule::Choice kChoice, bool kJitter, bool kRecord>
  void deliver(const cost::Problem::Edge& edge, std::uint32_t from, double time,
               std::uint32_t producer, const RunInput& input);
  template <bool kJitter, bool kRecord>
  double deliver_updates(NodeId node, std::uint32_t from, double time, const RunInput& input);
  void touch(std::uint32_t device) {
    if (!touched_flag_[device]) {
      touched_flag_[device] = 1;
      touched_.push_back(device);
    }
  }

  RunState& state_;
  ReadyQueues pending_;  // complete but still on their way, by arrival
  EarliestTime next_;    // per device: end of its node, or next arrival where it is idle
  std::vector<std::uint32_t> running_;  // node per device, or kNoNode
  std::vector<std::uint32_t> touched_;  // devices that may start something now
  std::vector<std::uint8_t> touched_flag_;
  std::vector<std::uint32_t> update_seen_;  // by device: round in which it was last served
  std::uint32_t update_round_ = 0;
};

}  // namespace doppler::sim
