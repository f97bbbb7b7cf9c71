#include "doppler/place/search/assignment_bounds.h"

#include <algorithm>

namespace doppler::place {

using cost::kInfinity;

AssignmentBounds::AssignmentBounds(const cost::Problem& problem)
    : problem_(problem),
      devices_(problem.device_count()),
      head_(problem.node_count() * devices_),
      tail_(problem.node_count() * devices_) {}

void AssignmentBounds::compute_tails(std::span<const DeviceId> device) {
  const auto order = problem_.graph().topological_order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    for (const DeviceId here : domain(*it, device[it->index()])) {
      double longest = 0.0;
      for (const cost::Problem::Edge& edge : problem_.edges_from(*it)) {
        const std::size_t consumer = edge.consumer.index();
        double least = kInfinity;
        for (const DeviceId there : domain(edge.consumer, device[consumer])) {
          const double way = problem_.compute_time(edge.consumer, there) +
                             tail(consumer, there.index()) +
                             (here == there ? 0.0 : problem_.transfer_time(edge, here, there));
          least = std::min(least, way);
        }
        longest = std::max(longest, least);
      }
      tail(it->index(), here.index()) = longest;
    }
  }
}

// Returns the longest way through a node, each node where it is best for it.
double AssignmentBounds::compute_heads(std::span<const DeviceId> device, double limit) {
  double bound = 0.0;
  for (const NodeId node : problem_.graph().topological_order()) {
    double least_way = kInfinity;
    for (const DeviceId here : domain(node, device[node.index()])) {
      double start = 0.0;
      for (const std::uint32_t position : problem_.awaited_edges(node)) {
        const cost::Problem::Edge& edge = problem_.edges()[position];
        const NodeId producer = problem_.graph().producer(edge.tensor);
        if (!producer.valid()) {
          const DeviceId home = problem_.home(edge.tensor);
          if (home != here) start = std::max(start, problem_.transfer_time(edge, home, here));
          continue;
        }
        double least = kInfinity;
        for (const DeviceId there : domain(producer, device[producer.index()])) {
          const double way = head(producer.index(), there.index()) +
                             problem_.compute_time(producer, there) +
                             (here == there ? 0.0 : problem_.transfer_time(edge, there, here));
          least = std::min(least, way);
        }
        start = std::max(start, least);
      }
      const double way =
          start + problem_.compute_time(node, here) + tail(node.index(), here.index());
      head(node.index(), here.index()) = way < limit ? start : kInfinity;
      least_way = std::min(least_way, way);
    }
    bound = std::max(bound, least_way);
  }
  return bound;
}

double AssignmentBounds::lower_bound(std::span<const DeviceId> device, double limit) {
  compute_tails(device);
  double bound = compute_heads(device, limit);
  if (bound >= limit) return bound;

  // The load of all devices together, each node where it is fastest of what is left to it.
  double work = 0.0;
  for (std::size_t v = 0; v < device.size(); ++v) {
    double least = kInfinity;
    for (const DeviceId here : domain(NodeId::of(v), device[v])) {
      if (head(v, here.index()) == kInfinity) continue;
      least = std::min(least, problem_.compute_time(NodeId::of(v), here));
    }
    work += least;
  }
  bound = std::max(bound, work / static_cast<double>(devices_));

  // Each device on its own, with the nodes that are on it already.
  for (std::size_t d = 0; d < devices_ && bound < limit; ++d) {
    machine_.clear();
    for (std::size_t v = 0; v < device.size(); ++v) {
      if (device[v] != DeviceId::of(d)) continue;
      machine_.push_back({head(v, d), problem_.compute_time(NodeId::of(v), device[v]), tail(v, d)});
    }
    bound = std::max(bound, machine_bound(machine_));
  }
  return bound;
}

}  // namespace doppler::place
