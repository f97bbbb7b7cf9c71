#include "doppler/analysis/placement_diff.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/schedule/memory.h"
#include "doppler/schedule/metrics.h"
#include "doppler/sim/simulator.h"

namespace doppler::analysis {
namespace {

// Simulated node runs that may be spent on single groups: a few seconds at most.
constexpr std::size_t kGroupNodeRuns = 5'000'000;
constexpr std::size_t kFewestGroups = 5;
constexpr std::size_t kMostGroups = 200;

using schedule::Placement;

// A group with the nodes that belong to it.
struct Moves {
  MoveGroup group;
  std::vector<NodeId> nodes;
};

// By the first node of each unit, so that colocated nodes stay together.
std::vector<Moves> moves_of(const cost::Problem& problem, const Placement& before,
                            const Placement& after) {
  const graph::Graph& graph = problem.graph();
  const bool by_meta_op = !graph.meta_op_names().empty();
  std::map<std::tuple<std::string, DeviceId, DeviceId>, Moves> groups;
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    const DeviceId from = before.device[v], to = after.device[v];
    if (from == to) continue;
    const NodeId leader = problem.unit(problem.unit_of(NodeId::of(v))).front();
    const auto meta = by_meta_op ? graph.meta_op(leader) : std::nullopt;
    std::string name(meta ? std::string_view(graph.meta_op_names()[meta->meta_op])
                          : graph.op_kind(leader));
    Moves& moves = groups[{name, from, to}];
    moves.group.name = std::move(name);
    moves.group.from = from;
    moves.group.to = to;
    ++moves.group.nodes;
    moves.nodes.push_back(NodeId::of(v));
  }
  std::vector<Moves> all;
  for (auto& [key, moves] : groups) all.push_back(std::move(moves));
  std::stable_sort(all.begin(), all.end(),
                   [](const Moves& a, const Moves& b) { return a.group.nodes > b.group.nodes; });
  return all;
}

// Returns whether some two nodes compare differently. The order of all nodes by priority decides
// it.
bool orders_differ(const Placement& before, const Placement& after) {
  const auto order = [](const std::vector<double>& priority) {
    std::vector<std::uint32_t> nodes(priority.size());
    for (std::uint32_t v = 0; v < nodes.size(); ++v) nodes[v] = v;
    std::stable_sort(nodes.begin(), nodes.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return priority[a] > priority[b]; });
    return nodes;
  };
  return order(before.priority) != order(after.priority);
}

std::size_t nodes_moved(const Placement& before, const Placement& after) {
  std::size_t moved = 0;
  for (std::size_t v = 0; v < before.device.size(); ++v) {
    moved += before.device[v] != after.device[v] ? 1 : 0;
  }
  return moved;
}

Placement renamed(Placement placement, const std::vector<DeviceId>& names) {
  for (DeviceId& device : placement.device) device = names[device.index()];
  return placement;
}

// New names for the devices of `before` such that more nodes are where `after` has them: pairs of
// alike devices that share most nodes first. Empty where that gains nothing, breaks a constraint or
// changes the run, as it does where devices that look alike are not linked alike.
std::vector<DeviceId> better_names(const cost::Problem& problem, sim::Simulator& simulator,
                                   const Placement& before, const Placement& after) {
  const std::size_t devices = problem.device_count();
  std::map<std::pair<DeviceId, DeviceId>, std::size_t> shared;
  for (std::size_t v = 0; v < before.device.size(); ++v) {
    const DeviceId from = before.device[v], to = after.device[v];
    const bool alike = problem.column(from) == problem.column(to) &&
                       problem.capacity_bytes(from) == problem.capacity_bytes(to);
    if (alike) ++shared[{from, to}];
  }
  std::vector<std::pair<std::size_t, std::pair<DeviceId, DeviceId>>> pairs;
  for (const auto& [pair, count] : shared) pairs.emplace_back(count, pair);
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<DeviceId> names(devices);
  std::vector<std::uint8_t> taken(devices, 0);
  for (const auto& [count, pair] : pairs) {
    if (names[pair.first.index()].valid() || taken[pair.second.index()]) continue;
    names[pair.first.index()] = pair.second;
    taken[pair.second.index()] = 1;
  }
  // What is left keeps its name, or takes one of those that are left.
  for (std::size_t d = 0; d < devices; ++d) {
    if (names[d].valid() || taken[d]) continue;
    names[d] = DeviceId::of(d);
    taken[d] = 1;
  }
  for (std::size_t d = 0; d < devices; ++d) {
    if (names[d].valid()) continue;
    const auto free = std::find(taken.begin(), taken.end(), 0);
    names[d] = DeviceId::of(free - taken.begin());
    *free = 1;
  }
  const Placement other = renamed(before, names);
  if (nodes_moved(other, after) >= nodes_moved(before, after)) return {};
  try {
    schedule::check_placement(problem, other);
  } catch (const InfeasibleError&) {
    return {};
  }
  const double makespan = simulator.makespan(before, cost::kInfinity);
  return simulator.makespan(other, cost::kInfinity) == makespan ? names : std::vector<DeviceId>();
}

}  // namespace

PlacementDiff diff_placements(const cost::Problem& problem, const Placement& as_named,
                              const Placement& after) {
  PlacementDiff diff;
  sim::Simulator simulator(problem);
  diff.moved_as_named = nodes_moved(as_named, after);
  diff.renamed = better_names(problem, simulator, as_named, after);
  const Placement before = diff.renamed.empty() ? as_named : renamed(as_named, diff.renamed);
  schedule::MemoryMeter meter(problem);
  const std::array<const Placement*, 2> both = {&before, &after};
  for (std::size_t i = 0; i < both.size(); ++i) {
    const schedule::Timeline timeline = simulator.timeline(*both[i]);
    meter.measure(timeline);
    diff.makespan[i] = timeline.makespan;
    diff.bytes_moved[i] = schedule::measure_metrics(problem, timeline).bytes_moved;
    diff.peak_memory_bytes[i].assign(meter.peak_bytes().begin(), meter.peak_bytes().end());
    diff.excess_memory_bytes[i] = meter.excess_bytes();
    diff.nodes[i].resize(problem.device_count(), 0);
    for (const DeviceId device : both[i]->device) ++diff.nodes[i][device.index()];
  }
  diff.order_differs = orders_differ(before, after);
  if (diff.order_differs) {
    diff.order_alone =
        simulator.makespan({.device = before.device, .priority = after.priority}, cost::kInfinity);
  }

  std::vector<Moves> moves = moves_of(problem, before, after);
  for (const Moves& group : moves) diff.moved_nodes += group.nodes.size();
  const std::size_t tried =
      std::min(moves.size(),
               std::clamp(kGroupNodeRuns / (2 * std::max<std::size_t>(problem.node_count(), 1)),
                          kFewestGroups, kMostGroups));
  diff.groups_not_tried = moves.size() - tried;
  Placement alone = before, without = after;
  for (std::size_t i = 0; i < tried; ++i) {
    Moves& group = moves[i];
    for (const NodeId node : group.nodes) {
      alone.device[node.index()] = group.group.to;
      without.device[node.index()] = group.group.from;
    }
    group.group.alone = simulator.makespan(alone, cost::kInfinity);
    group.group.without = simulator.makespan(without, cost::kInfinity);
    for (const NodeId node : group.nodes) {
      alone.device[node.index()] = group.group.from;
      without.device[node.index()] = group.group.to;
    }
    diff.groups.push_back(std::move(group.group));
  }
  // A group weighs as much as the larger of its two figures, for better or worse.
  const auto weight = [&](const MoveGroup& group) {
    return std::max(std::abs(group.alone - diff.makespan[0]),
                    std::abs(group.without - diff.makespan[1]));
  };
  std::stable_sort(diff.groups.begin(), diff.groups.end(),
                   [&](const MoveGroup& a, const MoveGroup& b) { return weight(a) > weight(b); });
  return diff;
}

}  // namespace doppler::analysis
