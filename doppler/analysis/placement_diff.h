// Compares two placements of one problem: which nodes are on other devices, and which of these
// moves make the difference. Times are in the problem's unit.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"

namespace doppler::analysis {

// Nodes of one meta-op that went from the same device to the same device. In graphs without
// meta-ops, nodes of one kind of operation.
struct MoveGroup {
  std::string name;
  DeviceId from, to;
  std::size_t nodes = 0;
  // Two simulated makespans. A move may be of use only together with others, so that neither tells
  // everything.
  double alone = 0.0;    // of the first placement with only these moves
  double without = 0.0;  // of the second placement with these moves undone
};

struct PlacementDiff {
  // Each array holds a value for the first and one for the second placement.
  std::array<double, 2> makespan = {};
  std::array<double, 2> bytes_moved = {};
  std::array<std::vector<double>, 2> peak_memory_bytes;  // by device
  std::array<double, 2> excess_memory_bytes = {};        // above capacity; 0 where it fits
  std::array<std::vector<std::size_t>, 2> nodes;         // by device

  // Where devices are alike, the second placement may be little else than the first with devices
  // renamed. Then the devices of the first are renamed to these (by device), which changes nothing
  // else about its run; empty where none is renamed. All that follows, and the numbers by device,
  // hold for the renamed placement.
  std::vector<DeviceId> renamed;
  std::size_t moved_as_named = 0;  // nodes on another device before anything is renamed
  std::size_t moved_nodes = 0;
  bool order_differs = false;  // nodes that compete for a device also run in another order
  // The makespan of the first placement with the priorities of the second; set only where the order
  // differs.
  double order_alone = 0.0;
  std::vector<MoveGroup> groups;     // those that matter most first
  std::size_t groups_not_tried = 0;  // the smallest groups, where there are very many
};

// Returns what differs between two placements. REQUIRES: both pass check_placement.
PlacementDiff diff_placements(const cost::Problem& problem, const schedule::Placement& before,
                              const schedule::Placement& after);

}  // namespace doppler::analysis
