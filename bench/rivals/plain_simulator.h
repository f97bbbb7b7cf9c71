// The work-conserving run with free links and the priority rule as one would first write it:
// standard containers and one event queue. The rival of sim::Simulator in the same benchmark; it
// gives the same makespans.
#pragma once

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"

namespace doppler::bench {

class PlainSimulator {
 public:
  explicit PlainSimulator(const cost::Problem& problem) : problem_(problem) {}

  double makespan(const schedule::Placement& placement, double) const {
    struct ByPriority {
      const std::vector<double>* priority;
      bool operator()(std::uint32_t a, std::uint32_t b) const {
        return std::tuple((*priority)[a], b) < std::tuple((*priority)[b], a);
      }
    };
    using Ready = std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, ByPriority>;
    using Event = std::tuple<double, bool, std::uint32_t>;  // time, whether an arrival, node
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
    std::vector<Ready> ready(problem_.device_count(), Ready(ByPriority{&placement.priority}));
    std::vector<bool> busy(problem_.device_count(), false);
    std::vector<double> available(problem_.node_count(), 0.0);
    std::vector<std::size_t> missing(problem_.node_count());
    for (std::uint32_t v = 0; v < missing.size(); ++v) {
      missing[v] = problem_.awaited(NodeId(v)).size();
      if (missing[v] == 0) events.push({0.0, true, v});
    }
    double makespan = 0.0;
    while (!events.empty()) {
      const double now = std::get<0>(events.top());
      while (!events.empty() && std::get<0>(events.top()) == now) {
        const auto [time, arrival, node] = events.top();
        events.pop();
        const DeviceId device = placement.device[node];
        if (arrival) {
          ready[device.index()].push(node);
          continue;
        }
        busy[device.index()] = false;
        makespan = now;
        for (const cost::Problem::Edge& edge : problem_.edges_from(NodeId(node))) {
          const std::uint32_t consumer = edge.consumer.value();
          const DeviceId to = placement.device[consumer];
          const double there =
              now + (to == device ? 0.0 : problem_.transfer_time(edge, device, to));
          available[consumer] = std::max(available[consumer], there);
          if (--missing[consumer] == 0) events.push({available[consumer], true, consumer});
        }
      }
      for (std::size_t d = 0; d < ready.size(); ++d) {
        if (busy[d] || ready[d].empty()) continue;
        const std::uint32_t node = ready[d].top();
        ready[d].pop();
        busy[d] = true;
        events.push({now + problem_.compute_time(NodeId(node), DeviceId::of(d)), false, node});
      }
    }
    return makespan;
  }

 private:
  const cost::Problem& problem_;
};

}  // namespace doppler::bench
