#include "doppler/render/page/page_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "doppler/base/names.h"
#include "doppler/base/text.h"
#include "doppler/graph/statistics.h"

namespace doppler::render {

namespace {

constexpr std::string_view kSeparators = "/.";
// Scopes further in do not count: bounds the work on names made of separators.
constexpr std::size_t kDeepest = 16;
constexpr std::uint32_t kRoot = 0;

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view without_separators_behind(std::string_view text) {
  const std::size_t last = text.find_last_not_of(kSeparators);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::string_view without_last_part(std::string_view text) {
  const std::size_t separator = text.find_last_of(kSeparators);
  return separator == std::string_view::npos ? text.substr(0, 0)
                                             : without_separators_behind(text.substr(0, separator));
}

// The first parts of a scope, without separators around them.
std::string_view bounded(std::string_view scope) {
  const std::size_t begin = std::min(scope.find_first_not_of(kSeparators), scope.size());
  scope = scope.substr(begin);
  std::size_t end = 0;
  for (std::size_t part = 0; part < kDeepest && end < scope.size(); ++part) {
    end = std::min(scope.find_first_of(kSeparators, scope.find_first_not_of(kSeparators, end)),
                   scope.size());
  }
  return without_separators_behind(scope.substr(0, end));
}

// Every scope and those around it, the whole model (no name) first.
class ScopeTree {
 public:
  explicit ScopeTree(std::span<const std::string_view> scope_of_node) {
    add({});
    of_node_.reserve(scope_of_node.size());
    for (const std::string_view scope : scope_of_node) {
      of_node_.push_back(add(bounded(scope)));
      ++own_[of_node_.back()];
    }
    nodes_ = own_;
    depth_.resize(own_.size(), 0);
    for (std::uint32_t s = 1; s < outer_.size(); ++s) {
      ++inner_[outer_[s]];
      for (std::uint32_t around = outer_[s];; around = outer_[around]) {
        nodes_[around] += own_[s];
        ++depth_[s];
        if (around == kRoot) break;
      }
    }
  }

  ScopeGroups groups(std::size_t most) const {
    const std::vector<bool> split = choose_split(most);
    ScopeGroups groups;
    std::vector<std::uint32_t> group_of(outer_.size(), ScopeGroups::kNone);  // by whole scope
    for (const std::uint32_t scope : of_node_) {
      // The outermost scope that is not split; within split ones, what is left of the innermost.
      std::uint32_t whole = scope;
      for (std::uint32_t around = scope; around != kRoot; around = outer_[around]) {
        if (!split[around]) whole = around;
      }
      if (whole != kRoot && group_of[whole] == ScopeGroups::kNone) {
        group_of[whole] = static_cast<std::uint32_t>(groups.names.size());
        groups.names.emplace_back(index_.name(whole));
      }
      groups.of_node.push_back(group_of[whole]);
    }
    return split[kRoot] ? groups : ScopeGroups{};
  }

 private:
  std::uint32_t add(std::string_view scope) {
    const auto [number, is_new] = index_.add(scope);
    if (!is_new) return number;
    own_.push_back(0);
    inner_.push_back(0);
    outer_.push_back(kRoot);
    if (!scope.empty()) {
      const std::uint32_t outer = add(without_last_part(scope));
      outer_[number] = outer;
    }
    return number;
  }

  // Largest first, outer ones before inner ones; those of one size and depth together or not at
  // all.
  std::vector<bool> choose_split(std::size_t most) const {
    std::vector<std::uint32_t> order(outer_.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto rank = [&](std::uint32_t s) {
      return std::pair(-std::int64_t{nodes_[s]}, depth_[s]);
    };
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return rank(a) < rank(b); });
    std::vector<bool> split(outer_.size(), false);
    std::size_t groups = 1;
    for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
      for (; end < order.size() && rank(order[end]) == rank(order[begin]); ++end) {
        const std::uint32_t scope = order[end];
        groups += inner_[scope] + (own_[scope] > 0 ? 1 : 0) - 1;
      }
      if (groups > most) break;
      for (std::size_t i = begin; i < end; ++i) split[order[i]] = true;
    }
    return split;
  }

  NameIndex index_;
  std::vector<std::uint32_t> of_node_;
  // By scope: the one around it, nodes right in it, nodes in all of it, scopes right in it, scopes
  // around it.
  std::vector<std::uint32_t> outer_, own_, nodes_, inner_, depth_;
};

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

constexpr std::uint32_t kNoItem = 0xffffffffu;

// "first…last" of names that are too long: what tells long names apart is often at their end.
std::string cut(std::string_view name, std::size_t bytes) {
  if (name.size() <= bytes) return std::string(name);
  const std::size_t half = bytes / 2;
  std::size_t tail = name.size() - half;
  while (tail < name.size() && (static_cast<unsigned char>(name[tail]) & 0xc0) == 0x80) ++tail;
  const std::string_view head = name.substr(0, half);
  return fmt::format("{}…{}", head.substr(0, valid_utf8_prefix(head)), name.substr(tail));
}

std::vector<LayoutEdge> links_of(const graph::Graph& graph, const PageGraph& drawn) {
  std::vector<LayoutEdge> links;
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    const NodeId producer = graph.producer(tensor);
    if (!producer.valid()) continue;
    const std::uint32_t from = drawn.item_of[producer.index()];
    for (const NodeId consumer : graph.consumers(tensor)) {
      const std::uint32_t to = drawn.item_of[consumer.index()];
      if (from != to) links.push_back({from, to});
    }
  }
  const auto key = [](const LayoutEdge& e) { return std::pair(e.from, e.to); };
  std::sort(links.begin(), links.end(),
            [&](const LayoutEdge& a, const LayoutEdge& b) { return key(a) < key(b); });
  links.erase(
      std::unique(links.begin(), links.end(),
                  [&](const LayoutEdge& a, const LayoutEdge& b) { return key(a) == key(b); }),
      links.end());
  return links;
}

template <class Values>
void write_array(JsonWriter& json, std::string_view key, const Values& values) {
  json.key(key).begin_array(JsonLayout::kCompact);
  for (const auto& value : values) json.value(value);
  json.end_array();
}

std::string_view grouping_name(Grouping grouping) {
  switch (grouping) {
    case Grouping::kMetaOp:
      return "meta-op";
    case Grouping::kLayer:
      return "layer";
    case Grouping::kLevel:
      return "level";
    case Grouping::kNone:
      break;
  }
  return "";
}

// The names of each item's nodes, a line each, so that a search finds nodes inside groups.
void write_members(JsonWriter& json, const graph::Graph& graph, const PageGraph& drawn,
                   std::size_t most_bytes) {
  std::size_t bytes = 0;
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    bytes += graph.node_name(NodeId::of(v)).size() + 1;
  }
  if (bytes > most_bytes) return;
  std::vector<std::string> members(drawn.names.size());
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    std::string& lines = members[drawn.item_of[v]];
    if (!lines.empty()) lines += '\n';
    lines += graph.node_name(NodeId::of(v));
  }
  write_array(json, "members", members);
}

}  // namespace

std::string_view scope_of_name(std::string_view name) {
  for (;;) {
    const std::size_t mark = name.find_last_of(".#");
    if (mark == std::string_view::npos || !is_number(name.substr(mark + 1))) break;
    name = name.substr(0, mark);
  }
  return without_last_part(name);
}

ScopeGroups group_by_scope(std::span<const std::string_view> scope_of_node, std::size_t most) {
  return ScopeTree(scope_of_node).groups(most);
}

PageGroups page_groups(const graph::Graph& graph, std::size_t most) {
  if (graph.node_count() <= most) return each_node(graph);
  for (const auto& by : {by_meta_op, by_layer}) {
    PageGroups groups = by(graph, most);
    if (groups.grouping != Grouping::kNone) return groups;
  }
  return by_level(graph, most);
}

PageGraph page_graph(const graph::Graph& graph, const GraphDetail& detail) {
  const PageGroups groups = page_groups(graph, detail.items);
  PageGraph drawn;
  drawn.grouping = groups.grouping;
  drawn.item_of.resize(graph.node_count());
  std::vector<std::uint32_t> item(groups.names.size(), kNoItem);
  for (const NodeId node : graph.topological_order()) {
    const std::uint32_t group = groups.of_node[node.index()];
    if (item[group] == kNoItem) {
      item[group] = static_cast<std::uint32_t>(drawn.names.size());
      drawn.names.push_back(cut(groups.names[group], detail.name_bytes));
      drawn.first.push_back(node.value());
      drawn.count.push_back(0);
    }
    drawn.item_of[node.index()] = item[group];
    ++drawn.count[item[group]];
  }
  drawn.links = links_of(graph, drawn);
  drawn.layout = layered_layout(drawn.names.size(), drawn.links);
  if (drawn.links.size() > detail.links) {
    drawn.links_left_out = drawn.links.size() - detail.links;
    drawn.links.resize(detail.links);
  }
  return drawn;
}

void page_graph_json(JsonWriter& json, const graph::Graph& graph, const PageGraph& drawn,
                     const GraphDetail& detail) {
  json.begin_object(JsonLayout::kCompact)
      .field("nodes", graph.node_count())
      .field("edges", graph.edge_count())
      .field("grouping", grouping_name(drawn.grouping))
      .field("links_left_out", drawn.links_left_out)
      .field("width", std::round(drawn.layout.width))
      .field("height", std::round(drawn.layout.height));
  write_array(json, "names", drawn.names);
  const auto write_coordinates = [&](std::string_view key, const std::vector<double>& values) {
    json.key(key).begin_array(JsonLayout::kCompact);
    for (const double value : values) json.value(std::llround(value));
    json.end_array();
  };
  write_coordinates("x", drawn.layout.x);
  write_coordinates("y", drawn.layout.y);
  json.key("links").begin_array(JsonLayout::kCompact);
  for (const LayoutEdge& link : drawn.links) json.value(link.from).value(link.to);
  json.end_array();
  if (drawn.grouping == Grouping::kNone) {
    write_array(json, "kinds", graph.op_kinds());
    json.key("kind").begin_array(JsonLayout::kCompact);
    for (const std::uint32_t v : drawn.first) json.value(graph.op_kind_index(NodeId(v)));
    json.end_array();
    json.key("output_bytes").begin_array(JsonLayout::kCompact);
    for (const std::uint32_t v : drawn.first) {
      double bytes = 0.0;
      for (const TensorId tensor : graph.outputs(NodeId(v))) {
        bytes += graph.bytes(tensor).value_or(0.0);
      }
      json.value(bytes);
    }
    json.end_array();
    if (!graph.meta_op_names().empty()) {
      write_array(json, "meta_ops", graph.meta_op_names());
      json.key("meta_op").begin_array(JsonLayout::kCompact);
      for (const std::uint32_t v : drawn.first) {
        const auto meta = graph.meta_op(NodeId(v));
        json.value(meta ? static_cast<std::int64_t>(meta->meta_op) : -1);
      }
      json.end_array();
    }
  } else {
    write_array(json, "count", drawn.count);
    write_members(json, graph, drawn, detail.member_bytes);
  }
  json.end_object();
}

}  // namespace doppler::render
