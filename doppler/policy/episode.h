// One placement as a policy builds it: the order in which nodes are picked, and the device of each.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"

namespace doppler::policy {

class NodeFeatures;

struct Episode {
  std::vector<NodeId> order;     // all nodes, each after its producers
  std::vector<DeviceId> device;  // by node

  friend bool operator==(const Episode&, const Episode&) = default;
};

// Selects the priorities that the nodes of an episode get when they run.
enum class Priorities : std::uint8_t {
  kOrder,   // the earlier a node was picked, the higher
  kBLevel,  // b-levels in mean costs, whatever the order
};
std::string_view priorities_name(Priorities priorities);
// Throws ParameterError that lists the known names.
Priorities priorities_named(std::string_view name);

// Throws ParameterError or InfeasibleError unless the episode has an order of all nodes, each after
// its producers, and a device for each that it may run on.
void check_episode(const cost::Problem& problem, const Episode& episode);

// Returns the episode as a placement in which earlier nodes have higher priorities.
schedule::Placement to_placement(const Episode& episode);
// Returns the placement as an episode, with the order in which a list scheduler with the
// placement's priorities would pick the nodes.
Episode to_episode(const cost::Problem& problem, const schedule::Placement& placement);
// Returns the order in which a list scheduler picks nodes by their b-levels in mean costs. Models
// that choose devices only place nodes in this order.
std::vector<NodeId> list_order(const NodeFeatures& nodes);

}  // namespace doppler::policy
