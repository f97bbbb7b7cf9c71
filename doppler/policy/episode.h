// One placement built by a policy, step by step.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"

namespace doppler::policy {

// Nodes in the order in which they were picked, and where each was put.
struct Episode {
  std::vector<NodeId> order;
  std::vector<DeviceId> device;  // by node

  friend bool operator==(const Episode&, const Episode&) = default;
};

// Which priorities the nodes of an episode get when they run.
enum class Priorities : std::uint8_t {
  kOrder,   // the earlier a node was picked the higher
  kBLevel,  // b-levels in mean costs, whatever the order
};
std::string_view priorities_name(Priorities priorities);
// Throws ParameterError that lists the known names.
Priorities priorities_named(std::string_view name);

// By node: edges from other nodes. A node is a candidate once the producers of all these are
// placed.
std::vector<std::uint32_t> edges_from_nodes(const cost::Problem& problem);

// The earlier a node was picked the higher its priority.
schedule::Placement to_placement(const Episode& episode);
// The order in which a list scheduler with these priorities would pick the nodes.
Episode to_episode(const cost::Problem& problem, const schedule::Placement& placement);

}  // namespace doppler::policy
