#include "doppler/render/page/page_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "doppler/graph/levels.h"
#include "doppler/render/page/scopes.h"

namespace doppler::render {
namespace {

constexpr std::uint32_t kNoGroup = ScopeGroups::kNone;

// Layers are for an overview: of more of them nobody reads the names.
constexpr std::size_t kMostLayers = 600;
// Scopes say little of a graph where more nodes than this share have none, or are in a single one.
constexpr double kMostWithout = 0.5;
constexpr double kMostInOne = 0.25;

std::string level_name(std::size_t first, std::size_t last) {
  return first == last ? fmt::format("level {}", first) : fmt::format("levels {}-{}", first, last);
}

// Neighbouring levels together, as many as make no more than `most` groups.
PageGroups by_level(const graph::Graph& graph, std::size_t most) {
  const graph::Levels levels = graph::compute_levels(graph);
  const std::size_t together = (levels.depth() + most - 1) / most;
  PageGroups groups{.grouping = Grouping::kLevel, .of_node = levels.of_node, .names = {}};
  for (std::uint32_t& level : groups.of_node) {
    level = static_cast<std::uint32_t>(level / together);
  }
  for (std::size_t first = 0; first < levels.depth(); first += together) {
    groups.names.push_back(level_name(first, std::min(first + together, levels.depth()) - 1));
  }
  return groups;
}

// The given groups, and levels for the nodes that are in none of them (kNoGroup). REQUIRES: fewer
// groups than `most`.
PageGroups with_levels(const graph::Graph& graph, PageGroups groups, std::size_t most) {
  const std::size_t named = groups.names.size();
  const PageGroups levels = by_level(graph, most - named);
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    if (groups.of_node[v] == kNoGroup) {
      groups.of_node[v] = levels.of_node[v] + static_cast<std::uint32_t>(named);
    }
  }
  groups.names.insert(groups.names.end(), levels.names.begin(), levels.names.end());
  return groups;
}

PageGroups by_meta_op(const graph::Graph& graph, std::size_t most) {
  const std::size_t meta_ops = graph.meta_op_names().size();
  if (meta_ops < 2 || meta_ops > most / 2) return {};
  PageGroups groups{.grouping = Grouping::kMetaOp,
                    .of_node = {},
                    .names = {graph.meta_op_names().begin(), graph.meta_op_names().end()}};
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    const auto meta = graph.meta_op(NodeId::of(v));
    groups.of_node.push_back(meta ? meta->meta_op : kNoGroup);
  }
  return with_levels(graph, std::move(groups), most);
}

PageGroups by_layer(const graph::Graph& graph, std::size_t most) {
  std::vector<std::string_view> scopes;
  scopes.reserve(graph.node_count());
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    const std::string_view given = graph.scope(NodeId::of(v));
    scopes.push_back(given.empty() ? scope_of_name(graph.node_name(NodeId::of(v))) : given);
  }
  ScopeGroups layers = group_by_scope(scopes, std::min(kMostLayers, most / 2));
  if (layers.names.empty()) return {};
  std::vector<std::size_t> members(layers.names.size(), 0);
  std::size_t without = 0;
  for (const std::uint32_t layer : layers.of_node) ++(layer == kNoGroup ? without : members[layer]);
  const auto above = [&](std::size_t nodes, double share) {
    return static_cast<double>(nodes) > share * static_cast<double>(graph.node_count());
  };
  if (above(without, kMostWithout)) return {};
  if (above(*std::max_element(members.begin(), members.end()), kMostInOne)) return {};
  return with_levels(graph,
                     {.grouping = Grouping::kLayer,
                      .of_node = std::move(layers.of_node),
                      .names = std::move(layers.names)},
                     std::min(2 * kMostLayers, most));
}

PageGroups each_node(const graph::Graph& graph) {
  PageGroups each;
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    each.of_node.push_back(static_cast<std::uint32_t>(v));
    each.names.emplace_back(graph.node_name(NodeId::of(v)));
  }
  return each;
}

}  // namespace

PageGroups page_groups(const graph::Graph& graph, std::size_t most) {
  if (graph.node_count() <= most) return each_node(graph);
  for (const auto& by : {by_meta_op, by_layer}) {
    PageGroups groups = by(graph, most);
    if (groups.grouping != Grouping::kNone) return groups;
  }
  return by_level(graph, most);
}

}  // namespace doppler::render
