#include "doppler/policy/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "doppler/base/error.h"

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

schedule::Placement to_placement(const Episode& episode) {
  schedule::Placement placement{.device = episode.device,
                                .priority = std::vector<double>(episode.device.size())};
  for (std::size_t i = 0; i < episode.order.size(); ++i) {
    placement.priority[episode.order[i].index()] = static_cast<double>(episode.order.size() - i);
  }
  return placement;
}

std::vector<std::uint32_t> edges_from_nodes(const cost::Problem& problem) {
  std::vector<std::uint32_t> count(problem.node_count(), 0);
  for (const cost::Problem::Edge& edge : problem.edges()) {
    if (problem.graph().producer(edge.tensor).valid()) ++count[edge.consumer.index()];
  }
  return count;
}

Episode to_episode(const cost::Problem& problem, const schedule::Placement& placement) {
  Episode episode{.order = {}, .device = placement.device};
  std::vector<std::uint32_t> missing = edges_from_nodes(problem);
  const auto later = [&](NodeId a, NodeId b) {
    const double x = placement.priority[a.index()], y = placement.priority[b.index()];
    return x != y ? x < y : a > b;
  };
  std::vector<NodeId> candidates;
  const auto add = [&](NodeId node) {
    candidates.push_back(node);
    std::push_heap(candidates.begin(), candidates.end(), later);
  };
  for (std::size_t v = 0; v < missing.size(); ++v) {
    if (missing[v] == 0) add(NodeId::of(v));
  }
  while (!candidates.empty()) {
    std::pop_heap(candidates.begin(), candidates.end(), later);
    const NodeId node = candidates.back();
    candidates.pop_back();
    episode.order.push_back(node);
    for (const cost::Problem::Edge& edge : problem.edges_from(node)) {
      if (--missing[edge.consumer.index()] == 0) add(edge.consumer);
    }
  }
  return episode;
}

}  // namespace doppler::policy
