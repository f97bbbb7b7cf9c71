// From expressions to a kernel graph: every block becomes a tensor, every use of a kernel on blocks
// a node. Renaming, filtering and trivial aggregation cost nothing; a dimension that is split anew
// becomes slices and concatenations of what overlaps. Equal nodes are made once.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doppler/graph/graph.h"
#include "doppler/kernel/registry.h"
#include "doppler/tra/expression.h"

namespace doppler::tra {

// A result that the graph is to have.
struct Root {
  Relation relation;
  std::string name;
  // The parameter that it is the new value of, split in the same way.
  std::optional<Relation> updates = std::nullopt;
};

struct Lowered {
  graph::Graph graph;
  // Tensors by key, of each root and of each input in the order of in_order().
  std::vector<std::vector<TensorId>> roots;
  struct Input {
    Relation relation;
    std::vector<TensorId> blocks;
  };
  std::vector<Input> inputs;
};

Lowered lower(std::span<const Root> roots, const kernel::Registry& kernels,
              const std::string& graph_name);

}  // namespace doppler::tra
