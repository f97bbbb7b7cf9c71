#include "doppler/sim/run_state.h"

#include <algorithm>
#include <cstring>

namespace doppler::sim {

RunState::RunState(const cost::Problem& the_problem) : problem(the_problem) {
  const std::size_t count = problem.node_count();
  nodes_at_start.resize(count);
  for (std::size_t v = 0; v < count; ++v) {
    nodes_at_start[v] = {0.0, static_cast<std::uint32_t>(problem.awaited(NodeId::of(v)).size()),
                         kNoNode};
    if (nodes_at_start[v].missing == 0) sources.push_back(static_cast<std::uint32_t>(v));
  }
  nodes.resize(count);
  start.resize(count);
  previous.resize(count);
  last_on_device.resize(problem.device_count());
  nodes_on_device.resize(problem.device_count());
  work_left.resize(problem.device_count());
  const std::size_t devices = problem.device_count();
  ranked.resize(count, devices);
  fifo.resize(count, devices);
  random.resize(count, devices);
  running.resize(devices);
  touched.resize(devices);

  tail.assign(count, 0.0);
  const auto order = problem.graph().topological_order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    double longest = 0.0;
    for (const auto& edge : problem.edges_from(*it)) {
      longest = std::max(longest, tail[edge.consumer.index()]);
    }
    tail[it->index()] = longest + problem.least_compute_time(*it);
  }
  for (double& t : tail) t *= 1.0 - kCutoffMargin;
}

void RunState::reset(const RunInput& input, schedule::Choice choice) {
  std::memcpy(nodes.data(), nodes_at_start.data(), nodes.size() * sizeof(NodeState));
  std::fill(last_on_device.begin(), last_on_device.end(), kNoNode);
  std::fill(running.begin(), running.end(), kNoNode);
  touched.clear();
  std::fill(nodes_on_device.begin(), nodes_on_device.end(), 0u);
  std::fill(work_left.begin(), work_left.end(), 0.0);
  for (std::uint32_t v = 0; v < nodes.size(); ++v) {
    const DeviceId device = input.device[v];
    ++nodes_on_device[device.index()];
    work_left[device.index()] += problem.compute_time(NodeId(v), device);
  }
  for (double& work : work_left) work *= 1.0 - kCutoffMargin;
  switch (choice) {
    case schedule::Choice::kPriority:
      ranked.reset(input.priority);
      break;
    case schedule::Choice::kFifo:
      fifo.reset(nodes_on_device);
      break;
    case schedule::Choice::kRandom:
      random.reset(nodes_on_device);
      break;
  }
}

}  // namespace doppler::sim
