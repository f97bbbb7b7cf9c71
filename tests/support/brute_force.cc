#include "support/brute_force.h"

#include <algorithm>
#include <numeric>

#include "doppler/sim/simulator.h"

namespace doppler::test {
namespace {

// True where every device can be exchanged for every other.
bool devices_identical(const cost::Problem& problem) {
  return problem.topology().pairwise_links() && problem.column_count() == 1 &&
         !problem.constrained() && problem.homed().empty();
}

}  // namespace

double brute_force_makespan(const cost::Problem& problem) {
  const std::size_t nodes = problem.node_count();
  const auto devices = static_cast<std::uint32_t>(problem.device_count());
  const bool identical = devices_identical(problem);
  sim::Simulator simulator(problem);
  schedule::Placement placement{std::vector<DeviceId>(nodes, DeviceId(0)),
                                std::vector<double>(nodes)};
  // Under free links orders that keep to the edges suffice: the order of starts of any run
  // reproduces it. With channels a transfer's rank hangs on its consumers, so all orders are tried.
  const bool along_edges = problem.links() == cost::LinkMode::kFree;
  std::vector<std::vector<double>> orders;
  std::vector<double> order(nodes);
  std::iota(order.begin(), order.end(), 0.0);
  do {
    bool wanted = true;
    for (std::uint32_t v = 0; along_edges && v < nodes; ++v) {
      for (const auto& edge : problem.edges_from(NodeId(v))) {
        wanted &= order[v] > order[edge.consumer.index()];
      }
    }
    if (wanted) orders.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));

  double best = cost::kInfinity;
  const auto try_all = [&](auto&& self, std::size_t v, std::uint32_t used) -> void {
    if (v == nodes) {
      for (const auto& priority : orders) {
        placement.priority = priority;
        best = std::min(best, simulator.makespan(placement, best));
      }
      return;
    }
    const std::uint32_t count = identical ? std::min(devices, used + 1) : devices;
    for (std::uint32_t d = 0; d < count; ++d) {
      const NodeId node = NodeId::of(v);
      const NodeId first = problem.unit(problem.unit_of(node)).front();
      if (!problem.allowed(node, DeviceId(d))) continue;
      if (first < node && placement.device[first.index()] != DeviceId(d)) continue;
      placement.device[v] = DeviceId(d);
      self(self, v + 1, std::max(used, d + 1));
    }
  };
  try_all(try_all, 0, 0);
  return best;
}

}  // namespace doppler::test
