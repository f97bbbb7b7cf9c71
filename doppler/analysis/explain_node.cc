#include "doppler/analysis/explain_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "doppler/base/error.h"
#include "doppler/base/names.h"
#include "doppler/schedule/critical_chain.h"
#include "doppler/schedule/memory.h"
#include "doppler/sim/simulator.h"

namespace doppler::analysis {
namespace {

// Simulated node runs that may be spent on other devices: a few seconds at most.
constexpr std::size_t kAlternativeNodeRuns = 5'000'000;
constexpr std::size_t kFewestDevices = 8;

using schedule::Placement;
using schedule::Timeline;
using schedule::TransferRun;

// The transfer that brings a tensor to a node; null where it is there already.
const TransferRun* transfer_to(const Timeline& timeline, TensorId tensor, NodeId node) {
  const DeviceId to = timeline.device[node.index()];
  for (const TransferRun& run : timeline.transfers) {
    if (run.tensor == tensor && run.to == to && (!run.consumer.valid() || run.consumer == node)) {
      return &run;
    }
  }
  return nullptr;
}

std::vector<NodeInput> inputs_of(const cost::Problem& problem, const Timeline& timeline,
                                 NodeId node) {
  std::vector<NodeInput> inputs;
  for (const TensorId tensor : problem.awaited(node)) {
    const NodeId producer = problem.graph().producer(tensor);
    NodeInput input{.tensor = tensor, .producer = producer, .bytes = problem.bytes(tensor)};
    input.from = producer.valid() ? timeline.device[producer.index()] : problem.home(tensor);
    input.complete = producer.valid() ? timeline.nodes[producer.index()].end : 0.0;
    input.arrived = input.complete;
    input.moved = input.from != timeline.device[node.index()];
    if (input.moved) {
      if (const TransferRun* run = transfer_to(timeline, tensor, node)) input.arrived = run->end;
    }
    inputs.push_back(input);
  }
  std::stable_sort(inputs.begin(), inputs.end(),
                   [](const NodeInput& a, const NodeInput& b) { return a.arrived > b.arrived; });
  return inputs;
}

std::optional<double> spare_of(const cost::Problem& problem, const Timeline& timeline,
                               NodeId node) {
  std::optional<double> spare;
  for (const cost::Problem::Edge& edge : problem.edges_from(node)) {
    const TransferRun* run = timeline.device[edge.consumer.index()] == timeline.device[node.index()]
                                 ? nullptr
                                 : transfer_to(timeline, edge.tensor, edge.consumer);
    const double there = run ? run->end : timeline.nodes[node.index()].end;
    const double left = timeline.nodes[edge.consumer.index()].start - there;
    spare = std::min(spare.value_or(left), left);
  }
  return spare;
}

// Returns what ran on the device up to the start of a node that had to wait for it.
NodeId holder_of(const Timeline& timeline, NodeId node, double ready) {
  const schedule::NodeRun& run = timeline.nodes[node.index()];
  NodeId holder;
  if (run.start <= ready) return holder;
  for (std::size_t v = 0; v < timeline.nodes.size(); ++v) {
    const bool here = timeline.device[v] == timeline.device[node.index()];
    if (here && v != node.index() && timeline.nodes[v].end == run.start &&
        timeline.nodes[v].start < run.start) {
      holder = NodeId::of(v);
    }
  }
  return holder;
}

double bytes_to_move(const cost::Problem& problem, const Placement& placement, NodeId node,
                     DeviceId to) {
  double bytes = 0.0;
  for (const TensorId tensor : problem.awaited(node)) {
    const NodeId producer = problem.graph().producer(tensor);
    const DeviceId from =
        producer.valid() ? placement.device[producer.index()] : problem.home(tensor);
    if (from != to) bytes += problem.bytes(tensor);
  }
  return bytes;
}

// Runs the node's unit on each device in turn.
void try_devices(const cost::Problem& problem, const Placement& placement,
                 NodeExplanation& explanation) {
  const NodeId node = explanation.node;
  const auto unit = problem.unit(problem.unit_of(node));
  const std::size_t most = std::max(
      kFewestDevices, kAlternativeNodeRuns / std::max<std::size_t>(problem.node_count(), 1));
  sim::Simulator simulator(problem);
  schedule::MemoryMeter meter(problem);
  Placement moved = placement;
  std::size_t tried = 0;
  for (std::size_t d = 0; d < problem.device_count(); ++d) {
    const DeviceId device = DeviceId::of(d);
    NodeAlternative alternative{.device = device,
                                .compute = problem.compute_time(node, device),
                                .bytes_to_move = bytes_to_move(problem, placement, node, device)};
    if (!problem.allowed(node, device)) {
      alternative.obstacle = std::isfinite(alternative.compute) ? "a constraint forbids it"
                                                                : "this device cannot run it";
    } else if (device != explanation.device && tried++ >= most) {
      ++explanation.devices_not_tried;
      continue;
    } else {
      for (const NodeId member : unit) moved.device[member.index()] = device;
      const Timeline timeline = simulator.timeline(moved);
      if (problem.memory_can_bind()) {
        meter.measure(timeline);
        alternative.obstacle = schedule::explain_excess(problem, meter);
      }
      if (alternative.obstacle.empty() || device == explanation.device) {
        alternative.makespan = timeline.makespan;
      }
      for (const NodeId member : unit) moved.device[member.index()] = explanation.device;
    }
    explanation.alternatives.push_back(std::move(alternative));
  }
  std::stable_sort(explanation.alternatives.begin(), explanation.alternatives.end(),
                   [&](const NodeAlternative& a, const NodeAlternative& b) {
                     const auto rank = [&](const NodeAlternative& x) {
                       return x.device == explanation.device ? -1.0
                                                             : x.makespan.value_or(cost::kInfinity);
                     };
                     return rank(a) < rank(b);
                   });
}

}  // namespace

NodeId find_node(const graph::Graph& graph, const std::string& name) {
  if (const auto found = graph.find_node(name)) return *found;
  std::vector<std::string> known;
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    known.emplace_back(graph.node_name(NodeId::of(v)));
  }
  std::string text = fmt::format("the graph has no node '{}'", name);
  const std::vector<std::string> nearest = closest(name, std::move(known));
  for (std::size_t i = 0; i < nearest.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "; the closest: " : ", ", nearest[i]);
  }
  throw ParameterError(text);
}

NodeExplanation explain_node(const cost::Problem& problem, const Placement& placement,
                             NodeId node) {
  const Timeline timeline = sim::Simulator(problem).timeline(placement);
  NodeExplanation explanation{.node = node,
                              .device = placement.device[node.index()],
                              .run = timeline.nodes[node.index()],
                              .makespan = timeline.makespan};
  explanation.inputs = inputs_of(problem, timeline, node);
  for (const NodeInput& input : explanation.inputs) {
    explanation.ready = std::max(explanation.ready, input.arrived);
  }
  for (const TensorId tensor : problem.graph().outputs(node)) {
    explanation.bytes_out += problem.bytes(tensor);
  }
  explanation.ran_before = holder_of(timeline, node, explanation.ready);
  explanation.critical = explanation.run.end == timeline.makespan;
  for (const schedule::ChainStep& step : schedule::critical_chain(problem, timeline).steps) {
    if (step.kind == schedule::ChainStep::Kind::kCompute && step.node == node) {
      explanation.critical = true;
    }
  }
  explanation.spare = spare_of(problem, timeline, node);
  explanation.colocated = problem.unit(problem.unit_of(node)).size() - 1;
  try_devices(problem, placement, explanation);
  return explanation;
}

}  // namespace doppler::analysis
