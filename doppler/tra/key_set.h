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

}  // namespace doppler::tra
