#include "support/shared_graphs.h"

#include <filesystem>

namespace doppler::test {

std::optional<std::string> shared_graph(const std::string& name) {
  const std::filesystem::path path = std::filesystem::path(DOPPLER_SHARED_GRAPHS) / name;
  if (!std::filesystem::exists(path)) return std::nullopt;
  return path.string();
}

}  // namespace doppler::test
