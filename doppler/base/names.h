// Gives each distinct name a dense number, in order of first appearance. A hash table over one
// block of characters: a few bytes per name beyond its text, so that readers of graphs with
// millions of names stay small. Not thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace doppler {

class NameIndex {
 public:
  struct Added {
    std::uint32_t number;
    bool is_new;
  };

  // The number of `name`, which is added where it is new.
  Added add(std::string_view name);
  std::optional<std::uint32_t> find(std::string_view name) const;

  std::size_t size() const { return ends_.size(); }
  // REQUIRES: number < size(). Valid until the next add.
  std::string_view name(std::uint32_t number) const {
    const std::uint64_t begin = number == 0 ? 0 : ends_[number - 1];
    return std::string_view(characters_).substr(begin, ends_[number] - begin);
  }

 private:
  static constexpr std::uint32_t kEmpty = 0xffffffffu;
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t number = kEmpty;
  };

  // The slot that holds `name`, or the empty one where it belongs. REQUIRES: there is an empty
  // slot.
  std::size_t slot_of(std::string_view name, std::uint32_t hash) const;
  void grow();

  std::string characters_;
  std::vector<std::uint64_t> ends_;
  std::vector<Slot> slots_;  // a power of two, at most 3/4 full
};

// Which known names a mistyped one may have meant, for error messages.

// The few candidates nearest to `text` by letters to insert, delete or replace, whatever their
// case; best first, equal ones in the order given.
std::vector<std::string> closest(std::string_view text, std::vector<std::string> candidates);

}  // namespace doppler
