#include "doppler/policy/episode.h"

#include <fmt/format.h>

#include <algorithm>

#include "doppler/base/error.h"
#include "doppler/policy/features/candidates.h"
#include "doppler/policy/features/node_features.h"

namespace doppler::policy {

std::string_view priorities_name(Priorities priorities) {
  return priorities == Priorities::kOrder ? "sel" : "b-level";
}

Priorities priorities_named(std::string_view name) {
  for (const Priorities priorities : {Priorities::kOrder, Priorities::kBLevel}) {
    if (priorities_name(priorities) == name) return priorities;
  }
  throw ParameterError(fmt::format("unknown priorities '{}'; there are sel, b-level", name));
}

void check_episode(const cost::Problem& problem, const Episode& episode) {
  const std::size_t count = problem.node_count();
  std::vector<std::size_t> position(count, count);
  for (std::size_t i = 0; i < episode.order.size(); ++i) {
    const std::size_t node = episode.order[i].index();
    if (node >= count || position[node] != count) {
      throw ParameterError("an episode has a node that does not exist or stands twice");
    }
    position[node] = i;
  }
  if (episode.order.size() != count) throw ParameterError("an episode does not have all nodes");
  for (const NodeId node : episode.order) {
    for (const cost::Problem::Edge& edge : problem.edges_from(node)) {
      if (position[edge.consumer.index()] < position[node.index()]) {
        throw ParameterError("an episode has a node before one that it needs");
      }
    }
  }
  schedule::check_placement(problem,
                            {.device = episode.device, .priority = std::vector<double>(count)});
}

schedule::Placement to_placement(const Episode& episode) {
  schedule::Placement placement{.device = episode.device,
                                .priority = std::vector<double>(episode.device.size())};
  for (std::size_t i = 0; i < episode.order.size(); ++i) {
    placement.priority[episode.order[i].index()] = static_cast<double>(episode.order.size() - i);
  }
  return placement;
}

Episode to_episode(const cost::Problem& problem, const schedule::Placement& placement) {
  Episode episode{.order = {}, .device = placement.device};
  const auto later = [&](NodeId a, NodeId b) {
    const double x = placement.priority[a.index()], y = placement.priority[b.index()];
    return x != y ? x < y : a > b;
  };
  Candidates candidates(problem);
  candidates.begin();
  std::vector<NodeId> heap;  // the next node to pick is at the front
  for (;;) {
    for (const std::uint32_t node : candidates.added()) {
      heap.push_back(NodeId(node));
      std::push_heap(heap.begin(), heap.end(), later);
    }
    if (heap.empty()) return episode;
    std::pop_heap(heap.begin(), heap.end(), later);
    const NodeId node = heap.back();
    heap.pop_back();
    episode.order.push_back(node);
    candidates.place(node);
  }
}

std::vector<NodeId> list_order(const NodeFeatures& nodes) {
  return to_episode(nodes.problem(), {.device = {}, .priority = nodes.b_levels()}).order;
}

}  // namespace doppler::policy
