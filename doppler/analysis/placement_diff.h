// Two placements of one problem: which nodes are on other devices, and which of these moves make
// the difference.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"

namespace doppler::analysis {

// Nodes of one meta-op (of graphs without: of one kind of operation) that went the same way.
struct MoveGroup {
  std::string name;
  DeviceId from, to;
  std::size_t nodes = 0;
  // Makespans, both simulated: of the first placement with these moves alone, and of the second
  // without them. A move may need others to be of use, so that neither tells everything.
  double alone = 0.0;
  double without = 0.0;
};

struct PlacementDiff {
  // Of the first and the second placement.
  std::array<double, 2> makespan = {};
  std::array<double, 2> bytes_moved = {};
  std::array<std::vector<double>, 2> peak_memory_bytes;  // by device
  std::array<double, 2> excess_memory_bytes = {};        // above capacity; 0: it fits
  std::array<std::vector<std::size_t>, 2> nodes;         // by device

  // Where devices are alike, the second placement may be the first with devices renamed, for the
  // most part. Then the first is read with these names instead (by device), which changes nothing
  // else about its run; empty: as it is. All that follows, and the figures by device, are of that.
  std::vector<DeviceId> renamed;
  std::size_t moved_as_named = 0;  // nodes on another device before anything is renamed
  std::size_t moved_nodes = 0;
  // Whether nodes that compete for a device also run in another order. Then what the order alone is
  // worth: the first placement with the priorities of the second.
  bool order_differs = false;
  double order_alone = 0.0;
  // Those that matter most first.
  std::vector<MoveGroup> groups;
  std::size_t groups_not_tried = 0;  // the smallest, where there are very many
};

// REQUIRES: both pass check_placement.
PlacementDiff diff_placements(const cost::Problem& problem, const schedule::Placement& before,
                              const schedule::Placement& after);

}  // namespace doppler::analysis
