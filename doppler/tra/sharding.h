// Splits the operations of a program: from relations without keys, one block each, to relations of
// many blocks, by identities of the algebra. A product of tiled operands is a join of their blocks
// and an aggregation over the parts of what it sums; elementwise operations work block by block;
// where an operand is split in another way than an operation wants, it is put together and tiled.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "doppler/tra/expression.h"

namespace doppler::tra {

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
