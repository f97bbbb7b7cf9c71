#include "doppler/base/names.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

#include "doppler/base/text.h"

namespace doppler {

namespace {

std::uint32_t hash_of(std::string_view name) {
  const std::size_t hash = std::hash<std::string_view>{}(name);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (to_lower(a[i]) != to_lower(b[j]) ? 1 : 0);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::size_t NameIndex::slot_of(std::string_view wanted, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].number != kEmpty &&
         (slots_[at].hash != hash || name(slots_[at].number) != wanted)) {
    at = (at + 1) & mask;
  }
  return at;
}

void NameIndex::grow() {
  constexpr std::size_t kFirstSize = 64;
  std::vector<Slot> old(slots_.empty() ? kFirstSize : 2 * slots_.size());
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.number == kEmpty) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].number != kEmpty) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

NameIndex::Added NameIndex::add(std::string_view wanted) {
  if (4 * (size() + 1) > 3 * slots_.size()) grow();
  const std::uint32_t hash = hash_of(wanted);
  Slot& slot = slots_[slot_of(wanted, hash)];
  if (slot.number != kEmpty) return {slot.number, false};
  slot = {hash, static_cast<std::uint32_t>(size())};
  characters_ += wanted;
  ends_.push_back(characters_.size());
  return {slot.number, true};
}

std::optional<std::uint32_t> NameIndex::find(std::string_view wanted) const {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[slot_of(wanted, hash_of(wanted))];
  if (slot.number == kEmpty) return std::nullopt;
  return slot.number;
}

std::vector<std::string> closest(std::string_view text, std::vector<std::string> candidates) {
  constexpr std::size_t kShown = 3;
  std::vector<std::pair<std::size_t, std::size_t>> order;  // distance, position
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    order.emplace_back(edit_distance(text, candidates[i]), i);
  }
  const std::size_t shown = std::min(kShown, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end());
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < shown; ++i) nearest.push_back(std::move(candidates[order[i].second]));
  return nearest;
}

}  // namespace doppler
