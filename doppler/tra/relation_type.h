// The types of tensor relations: their keys, and the named dimensions of the block that belongs to
// each key. Keys are tuples of small integers, all of a box or some of it. Plain immutable values,
// so safe to use from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace doppler::tra {

struct KeyComponent {
  std::string name;
  std::int64_t extent;  // the values are 0 to extent - 1

  friend bool operator==(const KeyComponent&, const KeyComponent&) = default;
};

using Key = std::vector<std::int64_t>;

// The most blocks of a program: the keys of all its relations together, after they are split. Each
// becomes a tensor, most of them a node, which together take one to two kilobytes of memory.
inline constexpr std::int64_t kMostBlocks = 1'000'000;

// A set of keys. They are numbered by their position in the box (the last component fastest) and
// visited in that order. Immutable and cheap to copy.
class KeySet {
 public:
  // The largest box. Some operations look at each of its keys, whether present or not.
  static constexpr std::int64_t kMost = 50'000'000;

  // Makes the set of the one empty key.
  KeySet() = default;
  // Makes the set of all keys of the box. Throws InputError if a name occurs twice, an extent is
  // not positive or the box is too large.
  explicit KeySet(std::vector<KeyComponent> components);
  // Makes the set of the keys listed, in any order. Throws InputError if one is outside the box or
  // occurs twice.
  KeySet(std::vector<KeyComponent> components, const std::vector<Key>& keys);
  // Makes the set of the keys with these numbers, which must rise. Throws InputError, as all that
  // make a set which is not a box, if there are more than kMostBlocks.
  KeySet(std::vector<KeyComponent> components, std::vector<std::int64_t> numbers);

  std::span<const KeyComponent> components() const { return components_; }
  std::size_t rank() const { return components_.size(); }
  // Returns the index of the component of this name, or -1.
  int find(const std::string& name) const;

  // Returns the same keys with other names for all components.
  KeySet renamed(const std::vector<std::string>& names) const;
  // Returns every key with every value of these components behind it. Throws InputError if there
  // are too many.
  KeySet times(const std::vector<KeyComponent>& added) const;

  bool is_box() const { return numbers_ == nullptr; }
  std::size_t size() const;
  // Return the i-th key. `out` must have room for rank() values.
  void key(std::size_t i, std::span<std::int64_t> out) const;
  Key key(std::size_t i) const;
  // Returns the index of a key in the set, or -1 if it is absent. REQUIRES: it is inside the box.
  std::int64_t position(std::span<const std::int64_t> key) const;
  // Returns the number of a key, its position in the box. REQUIRES: it is inside the box.
  std::int64_t number(std::span<const std::int64_t> key) const;

  // Returns "(i: 4, j: 2)", with the number of keys if some are absent.
  std::string describe() const;

  friend bool operator==(const KeySet& a, const KeySet& b);

 private:
  void check_box();
  std::vector<KeyComponent> components_;
  std::int64_t box_ = 1;
  std::shared_ptr<const std::vector<std::int64_t>> numbers_;  // rising; null: all of the box
};

// A named dimension of blocks. It may be split: then the relation has a key component of the same
// name, and the block at key i holds the i-th part of the dimension. Parts are as equal as they can
// be; their number need not divide the size.
struct Dimension {
  std::string name;
  std::int64_t size;       // of the whole dimension, all parts together
  std::int64_t parts = 1;  // more than one: split along the key component of this name

  std::int64_t begin(std::int64_t part) const { return part * size / parts; }
  std::int64_t size_of(std::int64_t part) const { return begin(part + 1) - begin(part); }
  // Returns the part that holds a position.
  std::int64_t part_at(std::int64_t position) const { return ((position + 1) * parts - 1) / size; }

  friend bool operator==(const Dimension&, const Dimension&) = default;
};

using Dimensions = std::vector<Dimension>;

// Returns the index of the dimension of this name, or -1.
int find(std::span<const Dimension> dimensions, const std::string& name);
std::vector<std::string> names(std::span<const Dimension> dimensions);

// The type of a tensor relation: its keys and the dimensions of its blocks.
struct RelationType {
  KeySet keys;
  Dimensions dimensions;

  // Throws InputError if a name occurs twice, a size is not positive, there are more than
  // kMostBlocks keys, the blocks have too many elements, or a split dimension and its key component
  // do not fit each other.
  void check() const;

  // Returns the part of dimension d that a key's block holds.
  std::int64_t part(std::size_t d, std::span<const std::int64_t> key) const;
  std::vector<std::int64_t> block_shape(std::span<const std::int64_t> key) const;
  // Returns the product of the sizes of all dimensions.
  double elements() const;
  // Returns "[s: 128, h: 8 in 4] over (h: 4)".
  std::string describe() const;

  friend bool operator==(const RelationType&, const RelationType&) = default;
};

}  // namespace doppler::tra
