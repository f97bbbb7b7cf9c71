#include "doppler/tra/relation_type.h"

#include <fmt/format.h>

#include <algorithm>

#include "doppler/base/error.h"

namespace doppler::tra {
namespace {

// Throws InputError if `count` is too large a number of blocks for `what`.
void check_block_count(std::int64_t count, const std::string& what) {
  if (count <= kMostBlocks) return;
  throw InputError(fmt::format("{} has {} blocks; the most is {}: use fewer, larger ones", what,
                               count, kMostBlocks));
}

}  // namespace

KeySet::KeySet(std::vector<KeyComponent> components) : components_(std::move(components)) {
  check_box();
}

KeySet::KeySet(std::vector<KeyComponent> components, const std::vector<Key>& keys)
    : components_(std::move(components)) {
  check_box();
  std::vector<std::int64_t> numbers;
  numbers.reserve(keys.size());
  for (const Key& key : keys) {
    bool inside = key.size() == rank();
    for (std::size_t c = 0; inside && c < rank(); ++c) {
      inside = key[c] >= 0 && key[c] < components_[c].extent;
    }
    if (!inside) {
      throw InputError(fmt::format("key ({}) lies outside {}", fmt::join(key, ", "), describe()));
    }
    numbers.push_back(number(key));
  }
  std::sort(numbers.begin(), numbers.end());
  if (std::adjacent_find(numbers.begin(), numbers.end()) != numbers.end()) {
    throw InputError(fmt::format("a key of {} stands twice", describe()));
  }
  if (static_cast<std::int64_t>(numbers.size()) != box_) {
    numbers_ = std::make_shared<const std::vector<std::int64_t>>(std::move(numbers));
  }
}

KeySet::KeySet(std::vector<KeyComponent> components, std::vector<std::int64_t> numbers)
    : components_(std::move(components)) {
  check_box();
  check_block_count(static_cast<std::int64_t>(numbers.size()), describe());
  DOPPLER_CHECK(std::is_sorted(numbers.begin(), numbers.end()));
  DOPPLER_CHECK(numbers.empty() || (numbers.front() >= 0 && numbers.back() < box_));
  if (static_cast<std::int64_t>(numbers.size()) != box_) {
    numbers_ = std::make_shared<const std::vector<std::int64_t>>(std::move(numbers));
  }
}

void KeySet::check_box() {
  box_ = 1;
  for (std::size_t c = 0; c < rank(); ++c) {
    const auto& [name, extent] = components_[c];
    if (extent < 1) {
      throw InputError(fmt::format("key component '{}' has extent {}", name, extent));
    }
    if (find(name) != static_cast<int>(c)) {
      throw InputError(fmt::format("key component '{}' stands twice", name));
    }
    if (extent > kMost / box_) {
      throw InputError(fmt::format("more than {} keys up to component '{}'", kMost, name));
    }
    box_ *= extent;
  }
}

int KeySet::find(const std::string& name) const {
  for (std::size_t c = 0; c < rank(); ++c) {
    if (components_[c].name == name) return static_cast<int>(c);
  }
  return -1;
}

KeySet KeySet::renamed(const std::vector<std::string>& names) const {
  DOPPLER_CHECK(names.size() == rank());
  KeySet result = *this;
  for (std::size_t c = 0; c < rank(); ++c) result.components_[c].name = names[c];
  result.check_box();
  return result;
}

KeySet KeySet::times(const std::vector<KeyComponent>& added) const {
  KeySet result = *this;
  result.components_.insert(result.components_.end(), added.begin(), added.end());
  result.check_box();
  if (!numbers_) return result;
  const std::int64_t copies = result.box_ / box_;
  const std::int64_t count = static_cast<std::int64_t>(numbers_->size()) * copies;
  check_block_count(count, KeySet(result.components_).describe());
  std::vector<std::int64_t> numbers;
  numbers.reserve(static_cast<std::size_t>(count));
  for (const std::int64_t number : *numbers_) {
    for (std::int64_t i = 0; i < copies; ++i) numbers.push_back(number * copies + i);
  }
  result.numbers_ = std::make_shared<const std::vector<std::int64_t>>(std::move(numbers));
  return result;
}

std::size_t KeySet::size() const {
  return numbers_ ? numbers_->size() : static_cast<std::size_t>(box_);
}

void KeySet::key(std::size_t i, std::span<std::int64_t> out) const {
  std::int64_t number = numbers_ ? (*numbers_)[i] : static_cast<std::int64_t>(i);
  for (std::size_t c = rank(); c-- > 0;) {
    out[c] = number % components_[c].extent;
    number /= components_[c].extent;
  }
}

Key KeySet::key(std::size_t i) const {
  Key result(rank());
  key(i, result);
  return result;
}

std::int64_t KeySet::number(std::span<const std::int64_t> key) const {
  std::int64_t number = 0;
  for (std::size_t c = 0; c < rank(); ++c) number = number * components_[c].extent + key[c];
  return number;
}

std::int64_t KeySet::position(std::span<const std::int64_t> key) const {
  const std::int64_t wanted = number(key);
  if (!numbers_) return wanted;
  const auto at = std::lower_bound(numbers_->begin(), numbers_->end(), wanted);
  return at != numbers_->end() && *at == wanted ? at - numbers_->begin() : -1;
}

std::string KeySet::describe() const {
  std::vector<std::string> parts;
  for (const auto& [name, extent] : components_)
    parts.push_back(fmt::format("{}: {}", name, extent));
  return fmt::format("({}){}", fmt::join(parts, ", "),
                     numbers_ ? fmt::format(" with {} keys", numbers_->size()) : "");
}

bool operator==(const KeySet& a, const KeySet& b) {
  if (a.components_ != b.components_ || a.is_box() != b.is_box()) return false;
  return a.is_box() || a.numbers_ == b.numbers_ || *a.numbers_ == *b.numbers_;
}

namespace {

// The largest size of a dimension, so that a position in it times its number of parts does not
// overflow; and the largest number of elements, which doubles hold exactly.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;
constexpr double kMostElements = 1e15;

}  // namespace

int find(std::span<const Dimension> dimensions, const std::string& name) {
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    if (dimensions[d].name == name) return static_cast<int>(d);
  }
  return -1;
}

std::vector<std::string> names(std::span<const Dimension> dimensions) {
  std::vector<std::string> result;
  for (const Dimension& dimension : dimensions) result.push_back(dimension.name);
  return result;
}

void RelationType::check() const {
  double count = 1.0;
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    const Dimension& dimension = dimensions[d];
    const auto& [name, size, parts] = dimension;
    if (size < 1 || size > kLargestSize) {
      throw InputError(
          fmt::format("dimension '{}' has size {}; it must be 1 to {}", name, size, kLargestSize));
    }
    if (find(dimensions, name) != static_cast<int>(d)) {
      throw InputError(fmt::format("dimension '{}' stands twice", name));
    }
    if (parts < 1 || parts > size) {
      throw InputError(fmt::format("dimension '{}' of size {} in {} parts", name, size, parts));
    }
    const int component = keys.find(name);
    if (parts == 1 ? component >= 0
                   : component < 0 ||
                         keys.components()[static_cast<std::size_t>(component)].extent != parts) {
      throw InputError(fmt::format("dimension '{}' in {} parts does not fit the keys {}", name,
                                   parts, keys.describe()));
    }
    count *= static_cast<double>(size);
  }
  check_block_count(static_cast<std::int64_t>(keys.size()), describe());
  if (count > kMostElements) {
    throw InputError(fmt::format("{} has {:.3g} elements, the most is {:.0g}", describe(), count,
                                 kMostElements));
  }
}

std::int64_t RelationType::part(std::size_t d, std::span<const std::int64_t> key) const {
  if (dimensions[d].parts == 1) return 0;
  return key[static_cast<std::size_t>(keys.find(dimensions[d].name))];
}

std::vector<std::int64_t> RelationType::block_shape(std::span<const std::int64_t> key) const {
  std::vector<std::int64_t> shape(dimensions.size());
  for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = dimensions[d].size_of(part(d, key));
  return shape;
}

double RelationType::elements() const {
  double count = 1.0;
  for (const Dimension& dimension : dimensions) count *= static_cast<double>(dimension.size);
  return count;
}

std::string RelationType::describe() const {
  std::vector<std::string> listed;
  for (const auto& [name, size, parts] : dimensions) {
    listed.push_back(parts == 1 ? fmt::format("{}: {}", name, size)
                                : fmt::format("{}: {} in {}", name, size, parts));
  }
  return fmt::format("[{}]{}", fmt::join(listed, ", "),
                     keys.rank() > 0 ? " over " + keys.describe() : "");
}

}  // namespace doppler::tra
