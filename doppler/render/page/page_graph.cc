#include "doppler/render/page/page_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "doppler/base/utf8.h"

namespace doppler::render {
namespace {

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

void write_page_graph(JsonWriter& json, const graph::Graph& graph, const PageGraph& drawn,
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
