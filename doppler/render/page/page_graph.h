// A graph as the report's page draws it: a box for each node, or, of graphs with more nodes than a
// page can show, for each group of nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "doppler/base/json_writer.h"
#include "doppler/graph/graph.h"
#include "doppler/render/charts/layout.h"
#include "doppler/render/page/page_groups.h"

namespace doppler::render {

// Items in topological order (of groups: that of their first nodes).
struct PageGraph {
  Grouping grouping = Grouping::kNone;
  std::vector<std::string> names;      // by item
  std::vector<std::uint32_t> item_of;  // by node
  std::vector<std::uint32_t> first;    // by item: its first node
  std::vector<std::uint32_t> count;    // by item: its nodes
  std::vector<LayoutEdge> links;       // between items, each once; no item with itself
  std::size_t links_left_out = 0;      // where there are more than can be drawn
  Layout layout;
};

// How much of it there may be.
struct GraphDetail {
  std::size_t items = 0;
  std::size_t name_bytes = 0;    // names are cut to about this
  std::size_t links = 0;         // about ten bytes each
  std::size_t member_bytes = 0;  // names inside groups are kept where all take less than this
};
PageGraph page_graph(const graph::Graph& graph, const GraphDetail& detail);

// As an object of the page's data.
void write_page_graph(JsonWriter& json, const graph::Graph& graph, const PageGraph& drawn,
                      const GraphDetail& detail);

}  // namespace doppler::render
