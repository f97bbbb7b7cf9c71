// A graph as the report's page draws it: a box for each node or, where a graph has more nodes than
// a page can show, for each group of nodes that means something to a reader.
//
// Some groups are the parts of a model that nodes belong to, their scopes. Graphs say them
// (Graph::scope) or names tell them: "model/layers.3/attn/q" is in "model/layers.3/attn". Scopes
// nest; '/' and '.' separate them.
//
// A run of the graph (page_run.cc) is drawn with these boxes: bars for nodes and transfers, memory
// over time, what was busy, and which nodes and transfers make up the critical chain. Detail is
// left out where a run has more than a page can hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/base/json_writer.h"
#include "doppler/cost/problem.h"
#include "doppler/graph/graph.h"
#include "doppler/render/charts/layout.h"
#include "doppler/schedule/timeline.h"

namespace doppler::render {

// Returns a name without its last part, which names the node itself. Numbers that only tell nodes
// of one name apart belong to that part: "mlp.add.5" and "mlp/add#5" are in "mlp", and "fusion.7"
// is in no scope.
std::string_view scope_of_name(std::string_view name);

// Nodes grouped by scope.
struct ScopeGroups {
  static constexpr std::uint32_t kNone = 0xffffffffu;

  std::vector<std::uint32_t> of_node;  // an index into names, or kNone for nodes in no scope
  std::vector<std::string> names;      // of scopes, in no particular order
};

// Returns at most `most` groups (nodes in no scope count as one), as fine as that allows. Scopes
// with equally many nodes, such as the layers of a model, are split alike. Returns no groups where
// even the outermost scopes are too many.
ScopeGroups group_by_scope(std::span<const std::string_view> scope_of_node, std::size_t most);

// Selects what the page draws as one box.
enum class Grouping : std::uint8_t {
  kNone,    // a group is a node
  kMetaOp,  // the nodes of a meta-op
  kLayer,   // the nodes of a part of the model, by scopes
  kLevel,   // the nodes of some neighbouring levels
};

// The group of every node. Where groups are meta-ops or layers, nodes that belong to none are
// grouped by levels.
struct PageGroups {
  Grouping grouping = Grouping::kNone;
  std::vector<std::uint32_t> of_node;  // an index into names
  std::vector<std::string> names;      // some may have no node
};

// Returns at most `most` groups.
PageGroups page_groups(const graph::Graph& graph, std::size_t most);

// The boxes (items) of a graph, in topological order; groups are in the order of their first nodes.
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

// Limits the detail of a graph to what the page has room for.
struct GraphDetail {
  std::size_t items = 0;
  std::size_t name_bytes = 0;    // names are cut to about this
  std::size_t links = 0;         // about ten bytes each
  std::size_t member_bytes = 0;  // names inside groups are kept where all take less than this
};
// Returns what the page draws of a graph.
PageGraph page_graph(const graph::Graph& graph, const GraphDetail& detail);

// Writes it as an object of the page's data.
void page_graph_json(JsonWriter& json, const graph::Graph& graph, const PageGraph& drawn,
                     const GraphDetail& detail);

// Limits the detail of a run to what the page has room for.
struct RunDetail {
  std::size_t bars = 50'000;            // for nodes, and as many for transfers
  std::size_t memory_samples = 40'000;  // over all devices
};

// Writes the run into the object that is open. REQUIRES: the timeline is one of this problem, and
// `drawn` is page_graph() of its graph.
void page_run_json(JsonWriter& json, const cost::Problem& problem, const PageGraph& drawn,
                   const schedule::Timeline& timeline, const RunDetail& detail);

}  // namespace doppler::render
