// Names: an index that gives each distinct name a number, and the search for names that are close
// to a mistyped one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace doppler {

// A table that gives each distinct name a dense number, in order of first appearance. It is a hash
// table over one block of characters and takes only a few bytes for each name beyond its text, so
// that readers of graphs with millions of names stay small. Not thread safe.
class NameIndex {
 public:
  struct Added {
    std::uint32_t number;
    bool is_new;
  };

  // Returns the number of `name`, which is added if it is new.
  Added add(std::string_view name);
  // Returns the number of `name`, or nothing if it was not added.
  std::optional<std::uint32_t> find(std::string_view name) const;

  std::size_t size() const { return ends_.size(); }
  // Returns the name of a number. The view is valid until the next add(). REQUIRES: number <
  // size().
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

  // Returns the slot that holds `name`, or else the empty one where it belongs. REQUIRES: there is
  // an empty slot.
  std::size_t slot_of(std::string_view name, std::uint32_t hash) const;
  void grow();

  std::string characters_;
  std::vector<std::uint64_t> ends_;
  std::vector<Slot> slots_;  // a power of two, at most 3/4 full
};

// Returns the up to three candidates nearest to a mistyped name, for error messages: by the number
// of letters to insert, delete or replace, regardless of case. The best comes first, equal ones
// stay in the order given.
std::vector<std::string> closest(std::string_view text, std::vector<std::string> candidates);

}  // namespace doppler
