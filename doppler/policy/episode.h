// One placement built by a policy, step by step.
#pragma once

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

// The earlier a node was picked the higher its priority.
schedule::Placement to_placement(const Episode& episode);
// The order in which a list scheduler with these priorities would pick the nodes.
Episode to_episode(const cost::Problem& problem, const schedule::Placement& placement);

}  // namespace doppler::policy
