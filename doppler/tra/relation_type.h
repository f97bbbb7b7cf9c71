// The keys of a relation: tuples of small integers, all of a box or some of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace doppler::tra {

struct KeyComponent {
  std::string name;
  std::int64_t extent;  // values 0 .. extent - 1

  friend bool operator==(const KeyComponent&, const KeyComponent&) = default;
};

using Key = std::vector<std::int64_t>;

// Keys are numbered by their place in the box (the last component fastest), and visited in that
// order. Immutable and cheap to copy.
class KeySet {
 public:
  // More keys than this are taken for a mistake.
  static constexpr std::int64_t kMost = 50'000'000;

  // The one empty key.
  KeySet() = default;
  // Every key of the box. Throws InputError where a name stands twice, an extent is not positive or
  // the box is too large.
  explicit KeySet(std::vector<KeyComponent> components);
  // Those listed, in any order. Throws InputError where one lies outside or stands twice.
  KeySet(std::vector<KeyComponent> components, const std::vector<Key>& keys);
  // Those with these numbers, which must be rising.
  KeySet(std::vector<KeyComponent> components, std::vector<std::int64_t> numbers);

  std::span<const KeyComponent> components() const { return components_; }
  std::size_t rank() const { return components_.size(); }
  // The component's place, or -1.
  int find(const std::string& name) const;

  // The same keys with other names for the components, as many as there are.
  KeySet renamed(const std::vector<std::string>& names) const;
  // Every key with every value of these components behind it.
  KeySet times(const std::vector<KeyComponent>& added) const;

  bool is_box() const { return numbers_ == nullptr; }
  std::size_t size() const;
  // The i-th key. `out` must have room for rank() values.
  void key(std::size_t i, std::span<std::int64_t> out) const;
  Key key(std::size_t i) const;
  // The place of a key among those present, or -1 where it is absent. REQUIRES: inside the box.
  std::int64_t position(std::span<const std::int64_t> key) const;

  // "(i: 4, j: 2)", with the number of keys where some are absent.
  std::string describe() const;

  friend bool operator==(const KeySet& a, const KeySet& b);

 private:
  void check_box();
  std::int64_t number(std::span<const std::int64_t> key) const;

  std::vector<KeyComponent> components_;
  std::int64_t box_ = 1;
  std::shared_ptr<const std::vector<std::int64_t>> numbers_;  // rising; null: all of the box
};

// What a tensor relation looks like: its keys, and the block that stands behind each of them.
//
// Dimensions of blocks have names. A dimension may be split: then the relation has a key component
// of the same name, and the block at key i holds the i-th part of the dimension. Parts are as equal
// as they can be and need not divide the size.

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
