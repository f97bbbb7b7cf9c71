// What limits a placement: where the time of its critical chain goes, what is busiest, and whether
// moving one node would help.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "doppler/base/id.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"

namespace doppler::analysis {

struct Limits {
  double makespan = 0.0;
  // Shares of the makespan along the critical chain; they sum to 1 (all 0 for an empty run).
  double compute = 0.0;
  double transfer = 0.0;
  double waiting = 0.0;

  DeviceId busiest_device = {};
  double busiest_device_share = 0.0;  // busy time / makespan
  ChannelId busiest_channel = {};     // invalid where nothing moved or links are free
  double busiest_channel_share = 0.0;

  // The best of the moves tried that shortens the run. A colocated node takes its class along.
  struct Move {
    NodeId node;
    DeviceId to;
    double makespan;
  };
  std::optional<Move> best_move = std::nullopt;
  std::uint64_t moves_tried = 0;
  bool all_moves_tried = false;  // of the nodes on the critical chain
};

// Of the nominal run. The number of moves tried depends on the graph's size only, so that equal
// placements have equal limits.
Limits find_limits(const cost::Problem& problem, const schedule::Placement& placement);

}  // namespace doppler::analysis
