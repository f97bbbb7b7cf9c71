// What a tensor relation looks like: its keys, and the block that stands behind each of them.
//
// Dimensions of blocks have names. A dimension may be split: then the relation has a key component
// of the same name, and the block at key i holds the i-th part of the dimension. Parts are as equal
// as they can be and need not divide the size.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "doppler/tra/key_set.h"

namespace doppler::tra {

struct Dimension {
  std::string name;
  std::int64_t size;       // of the whole dimension, all parts together
  std::int64_t parts = 1;  // more than one: split along the key component of this name

  std::int64_t begin(std::int64_t part) const { return part * size / parts; }
  std::int64_t size_of(std::int64_t part) const { return begin(part + 1) - begin(part); }

  friend bool operator==(const Dimension&, const Dimension&) = default;
};

using Dimensions = std::vector<Dimension>;

// Index of the dimension of this name, or -1.
int find(std::span<const Dimension> dimensions, const std::string& name);
std::vector<std::string> names(std::span<const Dimension> dimensions);

struct RelationType {
  KeySet keys;
  Dimensions dimensions;

  // Throws InputError where a name stands twice, a size is not positive, a block has too many
  // elements, or a split dimension and its key component do not fit each other.
  void check() const;

  // The part of dimension d that a key's block holds.
  std::int64_t part(std::size_t d, std::span<const std::int64_t> key) const;
  std::vector<std::int64_t> block_shape(std::span<const std::int64_t> key) const;
  // Of the whole: product of the sizes of all dimensions.
  double elements() const;
  // "[s: 128, h: 8 in 4] over (h: 4)"
  std::string describe() const;

  friend bool operator==(const RelationType&, const RelationType&) = default;
};

}  // namespace doppler::tra
