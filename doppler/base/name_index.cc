#include "doppler/base/name_index.h"

#include <functional>

namespace doppler {
namespace {

std::uint32_t hash_of(std::string_view name) {
  const std::size_t hash = std::hash<std::string_view>{}(name);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
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

}  // namespace doppler
