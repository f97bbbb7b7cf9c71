// What tests of readers ask of a graph that was read.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "doppler/graph/graph.h"

namespace doppler::test {

// The node of that name; the test fails where there is none.
inline NodeId node(const graph::Graph& graph, std::string_view name) {
  const auto found = graph.find_node(name);
  EXPECT_TRUE(found) << name;
  return found.value_or(NodeId(0));
}

inline std::vector<std::string> names(const graph::Graph& graph) {
  std::vector<std::string> all;
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    all.emplace_back(graph.node_name(NodeId::of(v)));
  }
  return all;
}

// Of the node's i-th result.
inline double result_bytes(const graph::Graph& graph, std::string_view name, std::size_t i = 0) {
  return graph.bytes(graph.outputs(node(graph, name))[i]).value();
}

}  // namespace doppler::test
