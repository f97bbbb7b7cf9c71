// The element types of an ONNX model's tensors and the works of its nodes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <vector>

#include "doppler/base/file.h"
#include "support/onnx_read.h"
#include "support/shared_graphs.h"

namespace doppler::formats {
namespace {

using namespace test::onnx;
using kernel::Work;
using kernel::WorkClass;
using test::onnx::node;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr int kInt32 = 6, kBfloat16 = 16, kFloat8 = 17;

std::vector<Work> works_of(const graph::Graph& graph, std::string_view name) {
  const auto works = graph.works(find(graph, name));
  return {works.begin(), works.end()};
}
// The works of one operator, which is named n_y.
std::vector<Work> works_of(std::string_view op, const std::vector<Sizes>& shapes,
                           const std::vector<std::string>& attributes = {},
                           const std::vector<Sizes>& lists = {}) {
  return works_of(graph_of(op, shapes, attributes, lists), "n_y");
}
std::optional<ElementType> type_of(const graph::Graph& graph, std::string_view name) {
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    if (graph.tensor_name(TensorId::of(t)) == name) return graph.element_type(TensorId::of(t));
  }
  ADD_FAILURE() << "no tensor " << name;
  return std::nullopt;
}

TEST(OnnxWorks, Products) {
  EXPECT_THAT(works_of("Gemm", {{6, 2}, {9, 6}}, {attribute("transA", 1), attribute("transB", 1)}),
              ElementsAre(Work{.rows = 2, .columns = 9, .depth = 6}));
  // One matrix for all rows; a matrix for each of 4 x 6; one row by 4 matrices.
  EXPECT_THAT(works_of("MatMul", {{5, 2, 3}, {3, 7}}),
              ElementsAre(Work{.rows = 10, .columns = 7, .depth = 3}));
  EXPECT_THAT(works_of("MatMul", {{4, 1, 5, 3}, {6, 3, 7}}),
              ElementsAre(Work{.batch = 24, .rows = 5, .columns = 7, .depth = 3}));
  EXPECT_THAT(works_of("MatMul", {{3}, {4, 3, 7}}),
              ElementsAre(Work{.batch = 4, .rows = 1, .columns = 7, .depth = 3}));
  EXPECT_THAT(works_of("FusedMatMul", {{2, 8, 5}, {2, 7, 8}},
                       {attribute("transA", 1), attribute("transB", 1)}),
              ElementsAre(Work{.batch = 2, .rows = 5, .columns = 7, .depth = 8}));
  EXPECT_THAT(works_of("MatMulNBits", {{2, 3, 64}, {40, 2, 16}, {80}},
                       {attribute("K", 64), attribute("N", 40)}),
              ElementsAre(Work{.rows = 6, .columns = 40, .depth = 64}));
  // A product of two vectors is a sum.
  EXPECT_THAT(works_of("MatMul", {{9}, {9}}),
              ElementsAre(Work{.work_class = WorkClass::kReduction, .rows = 1, .columns = 9}));
}

TEST(OnnxWorks, Einsums) {
  EXPECT_THAT(works_of("Einsum", {{2, 3, 5, 11}, {2, 3, 7, 11}},
                       {text_attribute("equation", "bhqd,bhkd->bhqk")}),
              ElementsAre(Work{.batch = 6, .rows = 5, .columns = 7, .depth = 11}));
  EXPECT_THAT(
      works_of("Einsum", {{4, 2, 3}, {4, 3, 5}}, {text_attribute("equation", "...ij,...jk")}),
      ElementsAre(Work{.batch = 4, .rows = 2, .columns = 5, .depth = 3}));
  EXPECT_THAT(works_of("Einsum", {{4}, {6}}, {text_attribute("equation", "i,j->ij")}),
              ElementsAre(Work{.work_class = WorkClass::kElementwise}));
  EXPECT_THAT(works_of("Einsum", {{4, 6}}, {text_attribute("equation", "ij->j")}),
              ElementsAre(Work{.work_class = WorkClass::kReduction, .rows = 6, .columns = 4}));
  EXPECT_THAT(works_of("Einsum", {{4, 6}}, {text_attribute("equation", "ij->ji")}),
              ElementsAre(Work{.work_class = WorkClass::kCopy}));
}

TEST(OnnxWorks, Convolutions) {
  // Two images of 10 x 10 with stride 2 and padding 1 give 5 x 5; two groups of 4 to 6 channels.
  EXPECT_THAT(works_of("Conv", {{2, 8, 10, 10}, {12, 4, 3, 3}},
                       {attribute("group", 2), attribute("pads", Sizes{1, 1, 1, 1}),
                        attribute("strides", Sizes{2, 2})}),
              ElementsAre(Work{.batch = 2, .rows = 2 * 25, .columns = 6, .depth = 4 * 9}));
  EXPECT_THAT(works_of("Conv", {{1, 32, 7, 7}, {32, 1, 3, 3}},
                       {attribute("group", 32), attribute("pads", Sizes{1, 1, 1, 1})}),
              ElementsAre(Work{.batch = 32, .rows = 49, .columns = 1, .depth = 9}));
  // Each of 25 pixels of 4 channels gives 3 x 3 of 6.
  EXPECT_THAT(
      works_of("ConvTranspose", {{1, 4, 5, 5}, {4, 6, 3, 3}}, {attribute("strides", Sizes{2, 2})}),
      ElementsAre(Work{.rows = 25, .columns = 54, .depth = 4}));
}

TEST(OnnxWorks, RowsAndColumns) {
  EXPECT_THAT(works_of("LayerNormalization", {{2, 5, 8}, {8}, {8}}),
              ElementsAre(Work{.rows = 10, .columns = 8}));
  EXPECT_THAT(works_of("LayerNormalization", {{2, 5, 8}, {5, 8}}, {attribute("axis", 1)}),
              ElementsAre(Work{.rows = 2, .columns = 40}));
  EXPECT_THAT(works_of("InstanceNormalization", {{2, 5, 8, 3}, {5}, {5}}),
              ElementsAre(Work{.rows = 10, .columns = 24}));
  EXPECT_THAT(works_of("GroupNormalization", {{2, 6, 8}, {6}, {6}}, {attribute("num_groups", 3)}),
              ElementsAre(Work{.rows = 6, .columns = 16}));
  // The statistics are trained, so that nothing is summed.
  EXPECT_THAT(works_of("BatchNormalization", {{2, 5, 8}, {5}, {5}, {5}, {5}}),
              ElementsAre(Work{.work_class = WorkClass::kElementwise}));
  EXPECT_THAT(works_of("Softmax", {{2, 5, 8}}, {attribute("axis", 1)}),
              ElementsAre(Work{.rows = 16, .columns = 5}));
  EXPECT_THAT(works_of("ReduceMean", {{3, 4, 5}}, {attribute("axes", Sizes{1})}),
              ElementsAre(Work{.rows = 15, .columns = 4}));
  EXPECT_THAT(works_of("ArgMax", {{3, 7}}, {attribute("axis", 1)}),
              ElementsAre(Work{.rows = 3, .columns = 7}));
  EXPECT_THAT(works_of("GlobalAveragePool", {{2, 4, 5, 5}}),
              ElementsAre(Work{.rows = 8, .columns = 25}));
  EXPECT_THAT(works_of("MaxPool", {{1, 2, 8, 8}},
                       {attribute("kernel_shape", Sizes{2, 2}), attribute("strides", Sizes{2, 2})}),
              ElementsAre(Work{.rows = 2 * 16, .columns = 4}));
  // Of several tensors, not of the elements of one.
  EXPECT_THAT(works_of("Sum", {{2, 5}, {2, 5}}),
              ElementsAre(Work{.work_class = WorkClass::kElementwise}));
  // What a name and flops say is not said twice.
  EXPECT_THAT(works_of("Gelu", {{2, 5}}), IsEmpty());
  EXPECT_THAT(works_of("Transpose", {{2, 5}}), IsEmpty());
}

// Before opset 13 a softmax was over the axis and all behind it.
TEST(OnnxWorks, OldSoftmax) {
  const graph::Graph graph = read(model({.nodes = {node("Softmax", {"x"}, {"y"})},
                                         .inputs = {value("x", kFloat, {"2", "5", "8"})},
                                         .outputs = {value("y", kFloat, {})}},
                                        11))
                                 .graph;
  EXPECT_THAT(works_of(graph, "n_y"), ElementsAre(Work{.rows = 2, .columns = 40}));
}

// 10 steps of 2 rows of 16 in 2 directions with a state of 32 and 4 gates.
TEST(OnnxWorks, RecurrentLayersGoStepByStep) {
  const graph::Graph graph =
      graph_of("LSTM", {{10, 2, 16}, {2, 128, 16}, {2, 128, 32}}, {attribute("hidden_size", 32)});
  const std::vector<Work> works = works_of(graph, "n_y");
  ASSERT_EQ(works.size(), 2u);
  const Work projection{.work_class = WorkClass::kProduct,
                        .flops = 2.0 * 2 * 20 * 128 * 16,
                        .bytes_read = 4.0 * (10 * 2 * 16 + 2 * 128 * 16),
                        .bytes_written = 4.0 * 10 * 2 * 2 * 128,
                        .batch = 2,
                        .rows = 20,
                        .columns = 128,
                        .depth = 16};
  const Work step{.count = 20,
                  .flops = 2.0 * 2 * 128 * 32,
                  .bytes_read = 4.0 * (128 * 32 + 2 * 128 + 2 * 32),
                  .bytes_written = 4.0 * 2 * 32,
                  .rows = 2,
                  .columns = 128,
                  .depth = 32};
  EXPECT_EQ(works[0], projection);
  EXPECT_EQ(works[1], step);
  EXPECT_EQ(*projection.flops + 20 * *step.flops, graph.flops(find(graph, "n_y")));
}

TEST(OnnxWorks, AttentionWithItsProjection) {
  const graph::Graph graph =
      graph_of("Attention", {{2, 10, 64}, {64, 192}, {192}}, {attribute("num_heads", 4)});
  // The standard's has three operands; this one is com.microsoft's.
  EXPECT_THAT(works_of(graph, "n_y"), IsEmpty());
  const graph::Graph fused =
      read(model({.nodes = {node("Attention", {"x", "w", "b"}, {"y"}, {attribute("num_heads", 4)},
                                 "com.microsoft")},
                  .initializers = {tensor("w", kFloat, {64, 192}), tensor("b", kFloat, {192})},
                  .inputs = {value("x", kFloat, {"2", "10", "64"})},
                  .outputs = {value("y", kFloat, {})}}))
          .graph;
  const std::vector<Work> works = works_of(fused, "n_y");
  ASSERT_EQ(works.size(), 2u);
  EXPECT_EQ(works[0].work_class, WorkClass::kProduct);
  EXPECT_EQ(works[0].rows, 20);
  EXPECT_EQ(works[0].columns, 192);
  EXPECT_EQ(works[0].depth, 64);
  EXPECT_EQ(works[1].work_class, std::nullopt);  // an attention by its name
  EXPECT_EQ(works[1].flops, 4.0 * 2 * 10 * 10 * 64);
  EXPECT_EQ(works[1].bytes_read, 4.0 * 20 * 192);
  EXPECT_EQ(works[1].bytes_written, 4.0 * 20 * 64);
}

// Quantised operands and weights, and results in the type of the bias.
TEST(OnnxWorks, QuantisedAttentionGivesFloatingResults) {
  const graph::Graph graph =
      read(model({.nodes = {node("QAttention", {"x", "w", "b"}, {"y"}, {attribute("num_heads", 4)},
                                 "com.microsoft")},
                  .initializers = {tensor("w", kInt8, {64, 192}), tensor("b", kFloat, {192})},
                  .inputs = {value("x", kInt8, {"2", "10", "64"})},
                  .outputs = {value("y", kFloat, {})}}))
          .graph;
  const TensorId result = graph.outputs(find(graph, "n_y"))[0];
  EXPECT_EQ(graph.element_type(result), ElementType::kF32);
  EXPECT_EQ(graph.bytes(result), 4.0 * 20 * 64);
  const std::vector<Work> works = works_of(graph, "n_y");
  ASSERT_EQ(works.size(), 2u);
  EXPECT_EQ(works[0].type, ElementType::kI8);
  EXPECT_EQ(works[0].bytes_read, 20 * 64 + 64 * 192 + 4.0 * 192);
}

// 6 rows choose 2 of 4 experts: 3 rows for each expert.
TEST(OnnxWorks, MixturesOfExperts) {
  const graph::Graph graph =
      graph_of("MoE", {{6, 16}, {6, 4}, {4, 16, 32}, {4, 32}, {4, 32, 16}}, {attribute("k", 2)});
  const std::vector<Work> works = works_of(graph, "n_y");
  ASSERT_EQ(works.size(), 2u);
  EXPECT_EQ(works[0].batch, 4);
  EXPECT_EQ(works[0].rows, 3);
  EXPECT_EQ(works[0].columns, 32);
  EXPECT_EQ(works[0].depth, 16);
  EXPECT_EQ(works[0].bytes_read, 4.0 * (4 * 16 * 32 + 12 * 16));
  EXPECT_EQ(works[1].columns, 16);
  EXPECT_EQ(works[1].depth, 32);
  EXPECT_EQ(*works[0].flops + *works[1].flops, graph.flops(find(graph, "n_y")));
}

// Five rounds of a product and an addition, which are there once each, with a count.
TEST(OnnxWorks, LoopsCountTheirWorks) {
  const std::string rounds =
      body({.nodes = {node("MatMul", {"s", "w"}, {"t"}), node("Identity", {"go"}, {"on"}),
                      node("Relu", {"t"}, {"r"}), node("Relu", {"r"}, {"out"})},
            .inputs = {value("i", kInt64, {}), value("go", kBool, {}), value("s", kFloat, {})},
            .outputs = {value("on", kBool, {}), value("t", kFloat, {}), value("out", kFloat, {})}});
  const graph::Graph graph =
      read(model({.nodes = {node("Loop", {"n", "", "x"}, {"y", "all"},
                                 {graph_attribute("body", rounds)})},
                  .initializers = {tensor("n", kInt64, {}, {5}), tensor("w", kFloat, {10, 10})},
                  .inputs = {value("x", kFloat, {"20", "10"})},
                  .outputs = {value("y", kFloat, {}), value("all", kFloat, {})}}))
          .graph;
  EXPECT_THAT(works_of(graph, "n_y"),
              ElementsAre(Work{.work_class = WorkClass::kProduct,
                               .count = 5,
                               .flops = 2.0 * 20 * 100,
                               .bytes_read = 4.0 * (200 + 100),
                               .bytes_written = 4.0 * 200,
                               .rows = 20,
                               .columns = 10,
                               .depth = 10},
                          Work{.count = 10,  // elementwise, as an unknown op
                               .flops = 200.0,
                               .bytes_read = 4.0 * 200,
                               .bytes_written = 4.0 * 200}));
}

// Of a branch, the works of the dearer one; of a function, those inside.
TEST(OnnxWorks, BranchesAndFunctions) {
  const auto branch = [](std::string_view op, std::string_view result) {
    return body({.nodes = {node(op, {"x", "w"}, {std::string(result)})},
                 .outputs = {value(result, kFloat, {})}});
  };
  const std::string function = bytes(1, "Linear") + bytes(4, "a") + bytes(4, "v") + bytes(5, "c") +
                               bytes(7, node("MatMul", {"a", "v"}, {"b"})) +
                               bytes(7, node("Tanh", {"b"}, {"c"})) + bytes(10, "my.ops");
  const graph::Graph graph =
      read(model({.nodes = {node("If", {"c"}, {"y"},
                                 {graph_attribute("then_branch", branch("MatMul", "a")),
                                  graph_attribute("else_branch", branch("Add", "b"))}),
                            node("Linear", {"y", "w"}, {"z"}, {}, "my.ops")},
                  .initializers = {tensor("w", kFloat, {80, 80})},
                  .inputs = {value("x", kFloat, {"80", "80"}), value("c", kBool, {})},
                  .outputs = {value("z", kFloat, {})}},
                 13, {function}))
          .graph;
  const std::vector<Work> chosen = works_of(graph, "n_y"), inside = works_of(graph, "n_z");
  EXPECT_THAT(
      chosen,
      ElementsAre(Work{.work_class = WorkClass::kProduct, .rows = 80, .columns = 80, .depth = 80}));
  ASSERT_EQ(inside.size(), 2u);  // "Linear" names a product
  EXPECT_EQ(inside[0].work_class, std::nullopt);
  EXPECT_EQ(inside[0].rows, 80);
  EXPECT_EQ(inside[1].work_class, WorkClass::kActivation);
  EXPECT_EQ(inside[1].flops, 6400.0);
}

TEST(OnnxWorks, TypesOfTensors) {
  const auto typed = [](int type) {
    const graph::Graph graph = read(model({.nodes = {node("Neg", {"x"}, {"y"})},
                                           .inputs = {value("x", type, {"3"})},
                                           .outputs = {value("y", type, {})}}))
                                   .graph;
    EXPECT_EQ(type_of(graph, "x"), type_of(graph, "y"));
    EXPECT_EQ(graph.works(NodeId(0)).size(), 0u);
    return type_of(graph, "x");
  };
  EXPECT_EQ(typed(kFloat), ElementType::kF32);
  EXPECT_EQ(typed(kHalf), ElementType::kF16);
  EXPECT_EQ(typed(kBfloat16), ElementType::kBf16);
  EXPECT_EQ(typed(kDouble), ElementType::kF64);
  EXPECT_EQ(typed(kFloat8), ElementType::kFp8);
  EXPECT_EQ(typed(kUint8), ElementType::kI8);
  EXPECT_EQ(typed(kInt4), ElementType::kI4);
  EXPECT_EQ(typed(kInt32), ElementType::kI32);
  EXPECT_EQ(typed(kInt64), ElementType::kI64);
  EXPECT_EQ(typed(kBool), ElementType::kBool);
  EXPECT_EQ(typed(0), std::nullopt);
  EXPECT_EQ(typed(14), std::nullopt);  // complex
}

// Weights have the type in which they are stored; a product computes in that of its activations.
TEST(OnnxWorks, StoredAndComputedTypes) {
  const graph::Graph graph =
      read(model({.nodes = {node("DequantizeLinear", {"q", "scale"}, {"w"}),
                            node("Transpose", {"w"}, {"v"}), node("MatMul", {"x", "v"}, {"a"}),
                            node("MatMulNBits", {"a", "b", "scales"}, {"y"},
                                 {attribute("K", 24), attribute("N", 16)}, "com.microsoft"),
                            node("Cast", {"y"}, {"z"}, {attribute("to", kFloat)})},
                  .initializers = {tensor("q", kInt8, {24, 8}), tensor("scale", kHalf, {}),
                                   tensor("b", kUint8, {16, 1, 16}), tensor("scales", kHalf, {16})},
                  .inputs = {value("x", kHalf, {"4", "8"})},
                  .outputs = {value("z", kFloat, {})}}))
          .graph;
  EXPECT_EQ(type_of(graph, "v"), ElementType::kI8);
  EXPECT_EQ(type_of(graph, "a"), ElementType::kF16);
  EXPECT_EQ(type_of(graph, "b"), ElementType::kI8);
  EXPECT_EQ(type_of(graph, "z"), ElementType::kF32);
  EXPECT_THAT(works_of(graph, "n_a"), ElementsAre(Work{.rows = 4, .columns = 24, .depth = 8}));
  EXPECT_THAT(works_of(graph, "n_y"), ElementsAre(Work{.rows = 4, .columns = 16, .depth = 24}));
}

TEST(OnnxWorks, QuantisedOperatorsComputeInIntegers) {
  const graph::Graph graph =
      read(
          model({.nodes = {node("QLinearMatMul", {"a", "s", "o", "b", "s", "o", "s", "o"}, {"y"}),
                           node("QLinearAdd", {"y", "s", "o", "y", "s", "o", "s", "o"}, {"z"}, {},
                                "com.microsoft"),
                           node("ConvInteger", {"x", "w"}, {"c"})},
                 .initializers = {tensor("b", kInt8, {8, 16}), tensor("s", kFloat, {}),
                                  tensor("o", kInt8, {}), tensor("w", kInt8, {6, 2, 3, 3})},
                 .inputs = {value("a", kInt8, {"4", "8"}), value("x", kInt8, {"1", "2", "5", "5"})},
                 .outputs = {value("z", kInt8, {}), value("c", kInt32, {})}}))
          .graph;
  EXPECT_THAT(works_of(graph, "n_y"),
              ElementsAre(Work{.type = ElementType::kI8, .rows = 4, .columns = 16, .depth = 8}));
  EXPECT_THAT(works_of(graph, "n_z"), ElementsAre(Work{.type = ElementType::kI8}));
  EXPECT_THAT(works_of(graph, "n_c"),
              ElementsAre(Work{.type = ElementType::kI8, .rows = 9, .columns = 6, .depth = 18}));
}

// Checks that the products of a node have its flops, if it does nothing else.
std::size_t check_products(const graph::Graph& graph) {
  std::size_t checked = 0;
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    const NodeId node = NodeId::of(v);
    const WorkClass by_name = kernel::classify_op(graph.op_kind(node));
    double flops = 0.0;
    bool products = !graph.works(node).empty();
    for (const Work& work : graph.works(node)) {
      const WorkClass work_class = work.work_class.value_or(by_name);
      products &= work_class == WorkClass::kProduct || work_class == WorkClass::kConvolution ||
                  work_class == WorkClass::kRecurrence;
      flops += 2.0 * work.count * work.batch * work.rows * work.columns * work.depth;
    }
    if (by_name == WorkClass::kProduct || by_name == WorkClass::kConvolution) {
      EXPECT_FALSE(graph.works(node).empty()) << graph.node_name(node);
    }
    if (!products) continue;
    ++checked;
    const double wanted = graph.flops(node).value_or(0.0);
    EXPECT_LE(std::abs(flops - wanted), 0.05 * wanted) << graph.node_name(node);
  }
  return checked;
}

TEST(OnnxWorks, ProductsHaveTheFlopsOfTheirNodes) {
  const auto pads = attribute("pads", Sizes{1, 1, 1, 1});
  const std::pair<std::string_view, std::vector<Sizes>> operators[] = {
      {"MatMul", {{2, 1, 5, 3}, {7, 3, 4}}},
      {"MatMulInteger", {{5, 3}, {3, 4}}},
      {"DynamicQuantizeMatMul", {{5, 3}, {3, 4}}},
      {"QLinearMatMul", {{5, 3}, {}, {}, {2, 3, 4}}},
      {"Gemm", {{5, 3}, {3, 4}, {4}}},
      {"QGemm", {{5, 3}, {}, {}, {3, 4}}},
      {"Conv", {{2, 3, 9, 9}, {8, 3, 3, 3}}},
      {"FusedConv", {{2, 3, 9}, {8, 3, 5}}},
      {"NhwcConv", {{2, 9, 9, 3}, {8, 3, 3, 3}}},
      {"QLinearConv", {{2, 3, 9, 9}, {}, {}, {8, 3, 3, 3}}},
      {"DeformConv", {{2, 3, 9, 9}, {8, 3, 3, 3}, {2, 18, 9, 9}}},
      {"ConvTranspose", {{2, 3, 9, 9}, {3, 5, 3, 3}}},
      {"GRU", {{7, 2, 5}, {1, 12, 5}, {1, 12, 4}}},
      {"RNN", {{7, 2, 5}, {2, 4, 5}, {2, 4, 4}}},
      {"DynamicQuantizeLSTM", {{7, 2, 5}, {1, 5, 16}, {1, 4, 16}}}};
  for (const auto& [op, shapes] : operators) {
    SCOPED_TRACE(op);
    EXPECT_EQ(check_products(graph_of(op, shapes, {pads})), 1u);
  }
}

TEST(OnnxWorks, ProductsOfRealModelsHaveTheFlopsOfTheirNodes) {
  const auto folder = test::shared_graph("onnx");
  if (!folder) GTEST_SKIP() << "the shared graphs are not here";
  std::size_t checked = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*folder)) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path().filename());
    checked += check_products(read(read_file(entry.path())).graph);
  }
  EXPECT_GT(checked, 100u);
}

}  // namespace
}  // namespace doppler::formats
