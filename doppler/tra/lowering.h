// From expressions to a kernel graph: every block becomes a tensor, every use of a kernel on blocks
// a node. Renaming, filtering and trivial aggregation cost nothing; a dimension that is split anew
// becomes slices and concatenations of what overlaps. Equal nodes are made once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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

// Splits the operations of a program: from relations without keys, one block each, to relations of
// many blocks, by identities of the algebra. A product of tiled operands is a join of their blocks
// and an aggregation over the parts of what it sums; elementwise operations work block by block;
// where an operand is split in another way than an operation wants, it is put together and tiled.

// In how many parts an operation works on a dimension of its operands or its result. More parts
// than the dimension has elements, or parts of what a kernel needs whole, are cut down.
using Sharding =
    std::function<std::int64_t(const Expression& operation, const std::string& dimension)>;

// The same for a dimension of this name wherever it occurs; others are not split.
Sharding shard_by_name(std::map<std::string, std::int64_t> parts);

// The same values as the roots', split. Inputs and parameters are stored as `sharding` says for
// them. Every expression of the result has the name of the operation that it is part of.
std::vector<Relation> shard(std::span<const Relation> roots, const Sharding& sharding);

}  // namespace doppler::tra
