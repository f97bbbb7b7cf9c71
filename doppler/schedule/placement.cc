#include "doppler/schedule/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "doppler/base/error.h"

namespace doppler::schedule {

void b_levels(const cost::Problem& problem, std::span<const DeviceId> device,
              std::vector<double>& levels) {
  levels.resize(problem.node_count());
  const auto order = problem.graph().topological_order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const DeviceId here = device[it->index()];
    double longest = 0.0;
    for (const cost::Problem::Edge& edge : problem.edges_from(*it)) {
      const DeviceId there = device[edge.consumer.index()];
      double way = levels[edge.consumer.index()];
      if (there != here) way += problem.transfer_time(edge, here, there);
      longest = std::max(longest, way);
    }
    levels[it->index()] = longest + problem.compute_time(*it, here);
  }
}

Placement with_b_levels(const cost::Problem& problem, std::vector<DeviceId> device) {
  Placement placement{.device = std::move(device), .priority = {}};
  b_levels(problem, placement.device, placement.priority);
  return placement;
}

void check_placement(const cost::Problem& problem, const Placement& placement) {
  const std::size_t nodes = problem.node_count();
  if (placement.device.size() != nodes || placement.priority.size() != nodes) {
    throw ParameterError(fmt::format("the placement is for {} nodes, the graph has {}",
                                     placement.device.size(), nodes));
  }
  for (std::size_t v = 0; v < nodes; ++v) {
    const NodeId node = NodeId::of(v);
    const auto name = [&] { return problem.graph().node_name(node); };
    const DeviceId device = placement.device[v];
    if (device.index() >= problem.device_count()) {
      throw ParameterError(fmt::format("node '{}' is on a device that does not exist", name()));
    }
    if (std::isnan(placement.priority[v])) {
      throw ParameterError(fmt::format("node '{}' has a priority that is not a number", name()));
    }
    if (!problem.allowed(node, device)) {
      throw InfeasibleError(fmt::format("node '{}' must not run on '{}'", name(),
                                        problem.topology().device(device).name));
    }
    const NodeId first = problem.unit(problem.unit_of(node)).front();
    if (placement.device[first.index()] != device) {
      throw InfeasibleError(fmt::format("nodes '{}' and '{}' must share a device", name(),
                                        problem.graph().node_name(first)));
    }
  }
}

}  // namespace doppler::schedule
