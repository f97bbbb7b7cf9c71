// Sharding and lowering: from the expressions of a program to a kernel graph. Pure functions, so
// safe to call from several threads.
//
// shard() splits the operations of a program: from relations without keys, of one block each, to
// relations of many blocks, by identities of the algebra. A product of tiled operands is a join of
// their blocks and an aggregation over the parts of the summed dimensions. Elementwise operations
// work block by block. An operand that is split in another way than the operation wants is put
// together and tiled anew.
//
// lower() makes the graph: every block becomes a tensor, every use of a kernel on blocks a node.
// Renaming, filtering and trivial aggregation cost nothing. A dimension that is split anew becomes
// slices and concatenations of the parts that overlap. Equal nodes are made once.
#pragma once

#include <cstdint>
#include <functional>
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
  // The parameter that it is the new value of, which must be split in the same way.
  std::optional<Relation> updates = std::nullopt;
};

// A graph and the tensors that hold the blocks of its results and inputs.
struct Lowered {
  graph::Graph graph;
  std::vector<std::vector<TensorId>> roots;  // by root, then key
  struct Input {
    Relation relation;
    std::vector<TensorId> blocks;  // by key
  };
  std::vector<Input> inputs;  // in the order of in_order()
};

// Returns the graph that computes the roots. Throws InputError if a kernel is unknown or a call
// ill-formed.
Lowered lower(std::span<const Root> roots, const kernel::Registry& kernels,
              const std::string& graph_name);

// Returns the number of parts in which an operation works on a dimension of its operands or its
// result. Numbers above the dimension's size are reduced to it, and dimensions that a kernel needs
// whole are not split.
using Sharding =
    std::function<std::int64_t(const Expression& operation, const std::string& dimension)>;

// Returns relations with the values of the roots, split. Throws InputError if they have more blocks
// than kMostBlocks together. Inputs and parameters are stored as
// `sharding` says for them. Every expression of the result has the name of the operation that it is
// part of.
std::vector<Relation> shard(std::span<const Relation> roots, const Sharding& sharding);

}  // namespace doppler::tra
