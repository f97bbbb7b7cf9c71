// The real graphs that some tests use by path, where they are present.
#pragma once

#include <optional>
#include <string>

namespace doppler::test {

// The path of a file below shared/graphs, or nothing where the folder is absent:
//   const auto path = shared_graph("reference/ffnn.txt");
//   if (!path) GTEST_SKIP() << "the shared graphs are not here";
std::optional<std::string> shared_graph(const std::string& name);

}  // namespace doppler::test
