// Finds what limits a placement: where the time of its critical chain goes, what is busiest, and
// whether moving one node would help.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "doppler/base/id.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"

namespace doppler::analysis {

struct Limits {
  double makespan = 0.0;  // of the nominal run, in the problem's time unit
  // Shares of the makespan along the critical chain (schedule/critical_chain.h). They sum to 1; all
  // are 0 for an empty run.
  double compute = 0.0;
  double transfer = 0.0;
  double waiting = 0.0;

  DeviceId busiest_device = {};
  double busiest_device_share = 0.0;  // busy time / makespan
  ChannelId busiest_channel = {};     // invalid where nothing moved or links are free
  double busiest_channel_share = 0.0;

  // One node on another device, together with those colocated with it.
  struct Move {
    NodeId node;
    DeviceId to;
    double makespan;
  };
  // The best of the moves tried; absent where none shortens the run.
  std::optional<Move> best_move = std::nullopt;
  std::uint64_t moves_tried = 0;
  bool all_moves_tried = false;  // whether these were all moves of nodes on the critical chain
};

// Returns what limits the nominal run of a placement. The number of moves tried depends only on the
// graph's size, so that equal placements have equal limits. REQUIRES: the placement passes
// check_placement.
Limits find_limits(const cost::Problem& problem, const schedule::Placement& placement);

}  // namespace doppler::analysis
