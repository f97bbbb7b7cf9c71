// What the report's page draws as one box: each node, or, of graphs with more nodes than a page can
// show, groups of them that mean something to a reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "doppler/graph/graph.h"

namespace doppler::render {

enum class Grouping : std::uint8_t {
  kNone,    // a group is a node
  kMetaOp,  // the nodes of a meta-op
  kLayer,   // the nodes of a part of the model, by scopes
  kLevel,   // the nodes of some neighbouring levels
};

// Where groups are meta-ops or layers, nodes that belong to none are grouped by levels.
struct PageGroups {
  Grouping grouping = Grouping::kNone;
  std::vector<std::uint32_t> of_node;  // an index into names
  std::vector<std::string> names;      // some may have no node
};

PageGroups page_groups(const graph::Graph& graph, std::size_t most);

}  // namespace doppler::render
