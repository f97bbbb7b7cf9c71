#include "doppler/sim/run_state.h"

#include <algorithm>
#include <cmath>

namespace doppler::sim {

namespace {

// The inverse of the standard normal distribution function, by bisection on erfc: slow, exact to
// rounding, and used only to fill a table.
double normal_quantile(double probability) {
  double low = -9.0, high = 9.0;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < probability ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

JitterTable::JitterTable(double sigma) : sigma_(sigma) {
  for (std::size_t i = 0; i < factors_.size(); ++i) {
    const double probability =
        (static_cast<double>(i) + 0.5) / static_cast<double>(factors_.size());
    factors_[i] = std::exp(sigma * normal_quantile(probability));
  }
}

RunState::RunState(const cost::Problem& the_problem) : problem(the_problem) {
  const std::size_t count = problem.node_count();
  nodes.resize(count);
  starts.resize(count);
  input_count.resize(count);
  for (std::uint32_t v = 0; v < count; ++v) {
    input_count[v] = static_cast<std::uint32_t>(problem.awaited(NodeId(v)).size());
    nodes[v].rank = v;
    if (input_count[v] == 0) sources.push_back(v);
  }
  last_on_device.resize(problem.device_count());
  nodes_on_device.resize(problem.device_count());
  work_left.resize(problem.device_count());
  const std::size_t devices = problem.device_count();
  ranked.resize(count, devices);
  fifo.resize(count, devices);
  random.resize(count, devices);
  running.resize(devices);
  touched.resize(devices);

  const auto order = problem.graph().topological_order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    double longest = 0.0;
    for (const auto& edge : problem.edges_from(*it)) {
      longest = std::max(longest, starts[edge.consumer.index()].tail);
    }
    starts[it->index()].tail = longest + problem.least_compute_time(*it);
  }
  for (StartState& node : starts) node.tail *= 1.0 - kCutoffMargin;
}

void RunState::reset(const RunInput& input, schedule::Choice choice) {
  std::fill(last_on_device.begin(), last_on_device.end(), kNoNode);
  std::fill(running.begin(), running.end(), kNoNode);
  touched.clear();
  std::fill(nodes_on_device.begin(), nodes_on_device.end(), 0u);
  std::fill(work_left.begin(), work_left.end(), 0.0);
  for (std::uint32_t v = 0; v < nodes.size(); ++v) {
    const DeviceId device = input.device[v];
    NodeState& node = nodes[v];
    node.ready = 0.0;
    node.missing = input_count[v];
    node.cause = kNoNode;
    node.device = device.value();
    node.duration = problem.compute_time(NodeId(v), device);
    ++nodes_on_device[device.index()];
    work_left[device.index()] += node.duration;
  }
  for (double& work : work_left) work *= 1.0 - kCutoffMargin;
  switch (choice) {
    case schedule::Choice::kPriority:
      ranked.reset(input.priority, nodes);
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
