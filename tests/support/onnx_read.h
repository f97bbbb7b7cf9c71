// Small ONNX models read, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "doppler/formats/onnx/onnx.h"
#include "doppler/graph/graph.h"
#include "support/errors.h"
#include "support/onnx_bytes.h"
#include "support/read_graph.h"

namespace doppler::test::onnx {

inline constexpr int kFloat = 1, kUint8 = 2, kInt8 = 3, kInt64 = 7, kBool = 9, kHalf = 10,
                     kDouble = 11, kInt4 = 22;

inline formats::Imported read(const std::string& bytes_of_model,
                              const formats::ImportOptions& options = {}) {
  return formats::read_onnx("m.onnx", bytes_of_model, options);
}
inline std::string error_in(const std::string& bytes_of_model) {
  return error_of([&] { read(bytes_of_model); });
}
inline NodeId find(const graph::Graph& graph, std::string_view name) {
  return test::node(graph, name);  // `node` makes one of a model here
}
using test::names;
using test::result_bytes;

// One operator on float inputs of the given shapes, and a reader of its result; opset 13.
inline graph::Graph graph_of(std::string_view op, const std::vector<Sizes>& shapes,
                             const std::vector<std::string>& attributes = {},
                             const std::vector<Sizes>& lists = {}) {
  GraphParts parts;
  Names inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::vector<std::string> dims;
    for (const std::int64_t size : shapes[i]) dims.push_back(std::to_string(size));
    inputs.push_back("x" + std::to_string(i));
    parts.inputs.push_back(value(inputs.back(), kFloat, dims));
  }
  for (std::size_t i = 0; i < lists.size(); ++i) {
    inputs.push_back("l" + std::to_string(i));
    parts.initializers.push_back(int64s(inputs.back(), lists[i]));
  }
  parts.nodes = {node(op, inputs, {"y"}, attributes), node("Neg", {"y"}, {"z"})};
  parts.outputs = {value("z", kFloat, {})};
  return read(model(parts)).graph;
}
// Bytes of its only result.
inline double bytes_of(std::string_view op, const std::vector<Sizes>& shapes,
                       const std::vector<std::string>& attributes = {},
                       const std::vector<Sizes>& lists = {}) {
  // Views are folded, so the reader's result is looked at.
  return result_bytes(graph_of(op, shapes, attributes, lists), "n_z");
}
}  // namespace doppler::test::onnx
