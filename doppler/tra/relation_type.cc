#include "doppler/tra/relation_type.h"

#include <fmt/format.h>

#include "doppler/base/error.h"

namespace doppler::tra {

namespace {

// Positions inside a dimension times its parts must not overflow, and doubles must hold the counts.
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
