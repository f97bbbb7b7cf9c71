#include "doppler/formats/onnx/onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/onnx_read.h"

namespace doppler::formats {
namespace {

using namespace test::onnx;
using test::onnx::node;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Bytes of what one operator makes of an input whose dimensions are partly open.
double open_bytes(int type, const std::vector<std::string>& dims,
                  const ImportOptions& options = {}) {
  const Imported imported = read(model({.nodes = {node("Relu", {"x"}, {"y"})},
                                        .inputs = {value("x", type, dims)},
                                        .outputs = {value("y", type, {})}}),
                                 options);
  return result_bytes(imported.graph, "n_y");
}

// Nothing is known of such a result; it must not be looked into.
TEST(Onnx, AttentionToAScalar) {
  const Imported imported =
      read(model({.nodes = {node("Attention", {"q", "k", "v"}, {"y"})},
                  .inputs = {value("q", kFloat, {"1", "4", "8"}),
                             value("k", kFloat, {"1", "4", "8"}), value("v", kFloat, {})},
                  .outputs = {value("y", kFloat, {})}}));
  EXPECT_EQ(imported.graph.node_count(), 1u);
}

TEST(Onnx, ConvolutionWithWeights) {
  const Imported imported = read(model(
      {.nodes = {node("Conv", {"x", "w", "b"}, {"y"},
                      {attribute("pads", Sizes{1, 1, 1, 1}), attribute("strides", Sizes{2, 2})}),
                 node("Relu", {"y"}, {"z"})},
       .initializers = {tensor("w", kFloat, {8, 3, 3, 3}), tensor("b", kFloat, {8})},
       .inputs = {value("x", kFloat, {"2", "3", "16", "16"})},
       .outputs = {value("z", kFloat, {"2", "8", "8", "8"})}}));
  const graph::Graph& graph = imported.graph;
  EXPECT_EQ(graph.name(), "g");
  EXPECT_THAT(names(graph), ElementsAre("n_y", "n_z"));
  EXPECT_EQ(graph.op_kind(NodeId(0)), "Conv");
  EXPECT_EQ(graph.flops(NodeId(0)), 2.0 * (2 * 8 * 8 * 8) * 3 * 3 * 3);
  EXPECT_EQ(graph.bytes_read(NodeId(0)), 4.0 * (2 * 3 * 16 * 16 + 8 * 27 + 8));
  EXPECT_EQ(result_bytes(graph, "n_y"), 4.0 * 2 * 8 * 8 * 8);
  ASSERT_EQ(graph.inputs(NodeId(0)).size(), 3u);
  EXPECT_EQ(graph.role(graph.inputs(NodeId(0))[0]), graph::TensorRole::kInput);
  EXPECT_EQ(graph.role(graph.inputs(NodeId(0))[1]), graph::TensorRole::kParameter);
  EXPECT_EQ(graph.tensor_name(graph.inputs(NodeId(0))[1]), "w");
  EXPECT_TRUE(graph.is_output(graph.outputs(find(graph, "n_z"))[0]));
  EXPECT_THAT(imported.notes, IsEmpty());
}

TEST(Onnx, Shapes) {
  EXPECT_EQ(bytes_of("MatMul", {{5, 2, 3}, {3, 7}}), 4.0 * 5 * 2 * 7);
  EXPECT_EQ(bytes_of("MatMul", {{3}, {4, 3, 7}}), 4.0 * 4 * 7);
  EXPECT_EQ(bytes_of("Add", {{4, 1, 3}, {5, 1}}), 4.0 * 4 * 5 * 3);
  EXPECT_EQ(bytes_of("Gemm", {{6, 2}, {6, 9}}, {attribute("transA", 1)}), 4.0 * 2 * 9);
  EXPECT_EQ(bytes_of("Concat", {{2, 3}, {2, 4}}, {attribute("axis", 1)}), 4.0 * 2 * 7);
  EXPECT_EQ(bytes_of("Reshape", {{4, 6}}, {}, {{0, 2, -1}}), 4.0 * 24);
  EXPECT_EQ(bytes_of("Slice", {{10, 8}}, {}, {{1}, {-1}, {0}, {2}}), 4.0 * 4 * 8);
  EXPECT_EQ(bytes_of("Slice", {{10, 8}}, {}, {{9}, {-100}, {0}, {-3}}), 4.0 * 4 * 8);
  EXPECT_EQ(bytes_of("ReduceSum", {{3, 4, 5}}, {attribute("keepdims", 0)}, {{1}}), 4.0 * 15);
  EXPECT_EQ(bytes_of("ReduceMean", {{3, 4, 5}}, {attribute("axes", Sizes{-1})}), 4.0 * 12);
  EXPECT_EQ(bytes_of("Expand", {{3, 1}}, {}, {{2, 1, 6}}), 4.0 * 2 * 3 * 6);
  EXPECT_EQ(bytes_of("Tile", {{3, 2}}, {}, {{2, 2}}), 4.0 * 24);
  EXPECT_EQ(bytes_of("Pad", {{3, 2}}, {}, {{0, 1, 2, 1}}), 4.0 * 5 * 4);
  EXPECT_EQ(bytes_of("Gather", {{100, 8}}, {}, {{1, 2, 3}}), 4.0 * 3 * 8);
  EXPECT_EQ(bytes_of("MaxPool", {{1, 2, 9, 9}},
                     {attribute("kernel_shape", Sizes{2, 2}), attribute("strides", Sizes{2, 2}),
                      attribute("ceil_mode", 1)}),
            4.0 * 2 * 5 * 5);
  EXPECT_EQ(bytes_of("ConvTranspose", {{1, 4, 5, 5}, {4, 6, 3, 3}},
                     {attribute("strides", Sizes{2, 2}), attribute("pads", Sizes{1, 1, 1, 1}),
                      attribute("output_padding", Sizes{1, 1})}),
            4.0 * 6 * 10 * 10);
  EXPECT_EQ(bytes_of("GlobalAveragePool", {{2, 4, 5, 5}}), 4.0 * 8);
  EXPECT_EQ(bytes_of("DepthToSpace", {{1, 8, 3, 3}}, {attribute("blocksize", 2)}), 4.0 * 72);
  EXPECT_EQ(
      bytes_of("Einsum", {{2, 3, 4}, {4, 5}}, {text_attribute("equation", "b i j, j k -> b i k")}),
      4.0 * 2 * 3 * 5);
  EXPECT_EQ(bytes_of("Unsqueeze", {{3, 4}}, {}, {{0, 3}}), 4.0 * 12);
  EXPECT_EQ(bytes_of("CenterCropPad", {{10, 7, 3}}, {attribute("axes", Sizes{0, 1})}, {{10, 9}}),
            4.0 * 10 * 9 * 3);
  EXPECT_EQ(bytes_of("DeformConv", {{1, 2, 8, 8}, {6, 2, 3, 3}, {1, 18, 6, 6}}), 4.0 * 6 * 6 * 6);
  EXPECT_EQ(bytes_of("ArrayFeatureExtractor", {{10, 7}}, {}, {{1, 5}}), 4.0 * 10 * 2);
  EXPECT_EQ(bytes_of("TfIdfVectorizer", {{2, 6}}, {attribute("ngram_indexes", Sizes{4, 0, 6})}),
            4.0 * 2 * 7);
}

TEST(Onnx, TypesThatAttributesName) {
  const auto type = attribute("dtype", kDouble);
  EXPECT_EQ(bytes_of("EyeLike", {{3, 4}}, {type}), 8.0 * 12);
  EXPECT_EQ(bytes_of("Bernoulli", {{3, 4}}, {type}), 8.0 * 12);
  EXPECT_EQ(bytes_of("RandomNormalLike", {{3, 4}}), 4.0 * 12);
}

// Fourier transforms: 5 N log2 N operations each.
TEST(Onnx, Signals) {
  const graph::Graph dft = graph_of("DFT", {{3, 64, 5, 1}}, {attribute("onesided", 1)});
  EXPECT_EQ(result_bytes(dft, "n_y"), 4.0 * 3 * 33 * 5 * 2);
  EXPECT_EQ(dft.flops(find(dft, "n_y")), 3 * 5 * 5.0 * 64 * 6);
  const Imported stft = read(
      model({.nodes = {node("STFT", {"x", "step", "", "length"}, {"y"})},
             .initializers = {tensor("step", kInt64, {}, {8}), tensor("length", kInt64, {}, {16})},
             .inputs = {value("x", kFloat, {"2", "128", "1"})},
             .outputs = {value("y", kFloat, {})}}));
  EXPECT_EQ(result_bytes(stft.graph, "n_y"), 4.0 * 2 * 15 * 9 * 2);
  EXPECT_EQ(stft.graph.flops(NodeId(0)), 2 * 15 * 5.0 * 16 * 4);
  EXPECT_THAT(stft.notes, IsEmpty());
  const graph::Graph mel =
      read(
          model(
              {.nodes = {node("MelWeightMatrix", {"bins", "length", "rate", "low", "high"}, {"m"}),
                         node("MatMul", {"x", "m"}, {"y"})},
               .initializers = {tensor("bins", kInt64, {}, {8}), tensor("length", kInt64, {}, {16}),
                                tensor("rate", kInt64, {}, {8192}), tensor("low", kFloat, {}),
                                tensor("high", kFloat, {})},
               .inputs = {value("x", kFloat, {"3", "9"})},
               .outputs = {value("y", kFloat, {})}}))
          .graph;
  EXPECT_EQ(result_bytes(mel, "n_y"), 4.0 * 3 * 8);
}

// ai.onnx.preview.training: two tensors, their gradients, and two states of each.
TEST(Onnx, Optimisers) {
  const graph::Graph graph =
      read(model({.nodes = {node("Adam", {"r", "t", "x", "y", "gx", "gy", "vx", "vy", "hx", "hy"},
                                 {"x2", "y2", "vx2", "vy2", "hx2", "hy2"})},
                  .initializers = {tensor("t", kInt64, {}, {1}), tensor("r", kFloat, {})},
                  .inputs = {value("x", kFloat, {"5"}), value("y", kFloat, {"7"}),
                             value("gx", kFloat, {"5"}), value("gy", kFloat, {"7"}),
                             value("vx", kFloat, {"5"}), value("vy", kFloat, {"7"}),
                             value("hx", kFloat, {"5"}), value("hy", kFloat, {"7"})},
                  .outputs = {value("x2", kFloat, {}), value("hy2", kFloat, {})}}))
          .graph;
  EXPECT_EQ(graph.flops(NodeId(0)), 12.0 * (5 + 7));
  EXPECT_EQ(graph.bytes_written(NodeId(0)), 3 * 4.0 * (5 + 7));
}

// Of com.microsoft, as optimised diffusion and quantised models have them.
TEST(Onnx, ChannelsLast) {
  const auto kernel = attribute("kernel_shape", Sizes{3, 5});
  const auto pads = attribute("pads", Sizes{1, 2, 1, 2});
  const double same = 4.0 * 2 * 16 * 12 * 7;
  EXPECT_EQ(bytes_of("NhwcConv", {{2, 16, 12, 4}, {7, 3, 5, 4}}, {kernel, pads}), same);
  EXPECT_EQ(bytes_of("NhwcConv", {{2, 16, 12, 4}, {7, 4, 3, 5}}, {kernel, pads}), same);
  EXPECT_EQ(bytes_of("NhwcConv", {{2, 16, 12, 4}, {7, 3, 5, 4}}, {pads}), same);
  EXPECT_EQ(bytes_of("NhwcMaxPool", {{2, 16, 12, 4}},
                     {attribute("kernel_shape", Sizes{2, 2}), attribute("strides", Sizes{2, 2})}),
            4.0 * 2 * 8 * 6 * 4);
  EXPECT_EQ(bytes_of("QLinearGlobalAveragePool", {{2, 16, 12, 4}}, {attribute("channels_last", 1)}),
            4.0 * 2 * 4);
  EXPECT_EQ(bytes_of("SkipGroupNorm", {{2, 16, 12, 4}, {4}, {4}, {2, 16, 12, 4}}),
            4.0 * 2 * 16 * 12 * 4);
  EXPECT_EQ(bytes_of("BiasSplitGelu", {{2, 16, 8}, {8}}), 4.0 * 2 * 16 * 4);
}

// Of com.microsoft, as models quantised to eight bits have them: with a scale and a zero point for
// each tensor.
TEST(Onnx, QuantisedOperators) {
  const Sizes one{};
  EXPECT_EQ(bytes_of("QLinearConcat", {one, one, {2, 3}, one, one, {2, 4}, one, one},
                     {attribute("axis", 1)}),
            4.0 * 2 * 7);
  EXPECT_EQ(bytes_of("QLinearAdd", {{4, 1, 3}, one, one, {5, 1}, one, one, one, one}),
            4.0 * 4 * 5 * 3);
  EXPECT_EQ(bytes_of("QLinearMul", {{3}, one, one, {2, 3}, one, one, one}), 4.0 * 2 * 3);
  EXPECT_EQ(bytes_of("QGemm", {{6, 2}, one, one, {9, 2}, one, one}, {attribute("transB", 1)}),
            4.0 * 6 * 9);
  // With a zero point of its own the result is quantised too.
  const graph::Graph graph =
      read(model({.nodes = {node("QGemm", {"a", "s", "z", "b", "s", "z", "", "s", "z"}, {"y"}, {},
                                 "com.microsoft")},
                  .initializers = {tensor("b", kUint8, {2, 9}), tensor("s", kFloat, {}),
                                   tensor("z", kUint8, {})},
                  .inputs = {value("a", kUint8, {"6", "2"})},
                  .outputs = {value("y", kUint8, {})}}))
          .graph;
  EXPECT_EQ(graph.flops(NodeId(0)), 2.0 * 6 * 9 * 2);
  EXPECT_EQ(result_bytes(graph, "n_y"), 6.0 * 9);
}

// Weights that are unpacked where they are used take the room that the model has for them.
TEST(Onnx, QuantisedWeights) {
  const graph::Graph conv =
      read(model({.nodes = {node("DequantizeLinear", {"w", "s", "z"}, {"d"}),
                            node("Conv", {"x", "d"}, {"y"})},
                  .initializers = {tensor("w", kInt8, {8, 3, 3, 3}), tensor("s", kFloat, {8}),
                                   tensor("z", kInt8, {8})},
                  .inputs = {value("x", kFloat, {"1", "3", "16", "16"})},
                  .outputs = {value("y", kFloat, {})}}))
          .graph;
  EXPECT_EQ(conv.bytes(conv.inputs(NodeId(0))[1]), 8.0 * 27);
  EXPECT_EQ(conv.bytes_read(NodeId(0)), 4.0 * 3 * 16 * 16 + 8.0 * 27);
  // Also in another shape and order; two to a byte.
  const graph::Graph product =
      read(model({.nodes = {node("DequantizeLinear", {"w", "s"}, {"d"}),
                            node("Reshape", {"d", "k"}, {"r"}), node("Transpose", {"r"}, {"t"}),
                            node("MatMul", {"x", "t"}, {"y"})},
                  .initializers = {tensor("w", kInt4, {1200}), tensor("s", kFloat, {}),
                                   int64s("k", {30, 40})},
                  .inputs = {value("x", kFloat, {"2", "40"})},
                  .outputs = {value("y", kFloat, {})}}))
          .graph;
  EXPECT_EQ(product.bytes(product.inputs(NodeId(0))[1]), 600.0);
  EXPECT_EQ(product.bytes_read(NodeId(0)), 4.0 * 2 * 40 + 600.0);
}

// Of com.microsoft: keys and values packed with the query, and keys as a cache has them.
TEST(Onnx, LayoutsOfAttention) {
  const auto heads = attribute("num_heads", 4);
  const graph::Graph packed = graph_of("MultiHeadAttention", {{2, 8, 4, 3, 16}}, {heads});
  EXPECT_EQ(packed.flops(find(packed, "n_y")), 4.0 * 2 * 8 * 64 * 8);
  EXPECT_EQ(result_bytes(packed, "n_y"), 4.0 * 2 * 8 * 64);
  const graph::Graph crossed =
      graph_of("MultiHeadAttention", {{2, 8, 64}, {2, 4, 10, 16}, {2, 4, 10, 16}}, {heads});
  EXPECT_EQ(crossed.flops(find(crossed, "n_y")), 4.0 * 2 * 8 * 64 * 10);
}

// 8 experts of 16 x 8 and 8 x 16 weights, of which each row takes 2.
TEST(Onnx, MixturesOfExperts) {
  const auto two = attribute("k", 2);
  const Sizes up{8, 16, 8}, bias{8, 16}, down{8, 8, 16};
  const graph::Graph rows = graph_of("MoE", {{4, 8}, {4, 8}, up, bias, down}, {two});
  EXPECT_EQ(rows.flops(find(rows, "n_y")), 2.0 * 4 * 2 * (16 * 8 + 8 * 16));
  // One row reads no more than its own experts.
  const graph::Graph row = graph_of("MoE", {{1, 8}, {1, 8}, up, bias, down}, {two});
  EXPECT_EQ(row.bytes_read(find(row, "n_y")), 4.0 * (8 + 8) + 2 * 4.0 * (16 * 8 + 16 + 8 * 16));
  // Two weights to a byte; the four rows may need them all.
  const graph::Graph packed =
      read(model({.nodes = {node("QMoE", {"x", "router", "w1", "s1", "", "w2", "s2"}, {"y"}, {two},
                                 "com.microsoft")},
                  .initializers = {tensor("w1", kUint8, {8, 16, 4}), tensor("s1", kFloat, {8, 16}),
                                   tensor("w2", kUint8, {8, 8, 8}), tensor("s2", kFloat, {8, 8})},
                  .inputs = {value("x", kFloat, {"4", "8"}), value("router", kFloat, {"4", "8"})},
                  .outputs = {value("y", kFloat, {})}}))
          .graph;
  EXPECT_EQ(packed.flops(NodeId(0)), 2.0 * 4 * 2 * (16 * 8 + 8 * 16));
  EXPECT_EQ(packed.bytes_read(NodeId(0)),
            4.0 * (4 * 8 + 4 * 8) + 8.0 * (16 * 4 + 4 * 16 + 8 * 8 + 4 * 8));
}

TEST(Onnx, PackedTables) {
  const Imported imported = read(
      model({.nodes = {node("GatherBlockQuantized", {"table", "i", "s"}, {"y"},
                            {attribute("bits", 4), attribute("block_size", 32)}, "com.microsoft")},
             .initializers = {tensor("table", kUint8, {100, 16}), tensor("s", kHalf, {100, 1})},
             .inputs = {value("i", kInt64, {"2", "3"})},
             .outputs = {value("y", kHalf, {})}}));
  const graph::Graph& graph = imported.graph;
  EXPECT_EQ(result_bytes(graph, "n_y"), 2.0 * 2 * 3 * 32);
  EXPECT_EQ(graph.bytes_read(NodeId(0)), 2.0 * 3 * 16);
  EXPECT_THAT(imported.notes, Not(Contains(HasSubstr("without a rule"))));
  const auto k = attribute("K", 8), n = attribute("N", 16);
  EXPECT_EQ(bytes_of("MatMulBnb4", {{2, 3, 8}, {64}, {8}}, {k, n}), 4.0 * 2 * 3 * 16);
  EXPECT_EQ(bytes_of("MatMulBnb4", {{2, 3, 16}, {64}, {8}}, {k, n, attribute("transB", 0)}),
            4.0 * 2 * 3 * 8);
}

TEST(Onnx, ConstantsFoldAway) {
  // Weights made by ConstantOfShape, as light models have them.
  const Imported imported =
      read(model({.nodes = {node("ConstantOfShape", {"s"}, {"w"}), node("Transpose", {"w"}, {"t"}),
                            node("MatMul", {"x", "t"}, {"y"})},
                  .initializers = {int64s("s", {40, 30})},
                  .inputs = {value("x", kFloat, {"2", "30"})},
                  .outputs = {value("y", kFloat, {})}}));
  const graph::Graph& graph = imported.graph;
  EXPECT_THAT(names(graph), ElementsAre("n_y"));
  const TensorId weights = graph.inputs(NodeId(0))[1];
  EXPECT_EQ(graph.role(weights), graph::TensorRole::kParameter);
  EXPECT_EQ(graph.bytes(weights), 4.0 * 1200);
  EXPECT_THAT(imported.notes, Contains(HasSubstr("2 nodes on constants and shapes alone")));
}

// view(x.size(0), -1) as PyTorch exports it: Shape, Gather, Unsqueeze, Concat, Reshape.
TEST(Onnx, ShapeExpressionsFoldAway) {
  const graph::Graph graph =
      read(model({.nodes = {node("Shape", {"x"}, {"s"}),
                            node("Gather", {"s", "zero"}, {"n"}, {attribute("axis", 0)}),
                            node("Mul", {"n", "two"}, {"m"}), node("Div", {"m", "two"}, {"d"}),
                            node("Unsqueeze", {"d", "axes"}, {"u"}),
                            node("Concat", {"u", "rest"}, {"c"}, {attribute("axis", 0)}),
                            node("Reshape", {"x", "c"}, {"r"}), node("Relu", {"r"}, {"y"}),
                            node("ReduceSum", {"y", "one"}, {"z"})},
                  .initializers = {tensor("zero", kInt64, {}, {0}), tensor("two", kInt64, {}, {2}),
                                   int64s("axes", {0}), int64s("rest", {-1}), int64s("one", {1})},
                  .inputs = {value("x", kFloat, {"n", "3", "4"})},
                  .outputs = {value("z", kFloat, {})}}),
           {.dimensions = {{"n", 7}}})
          .graph;
  EXPECT_THAT(names(graph), ElementsAre("n_y", "n_z"));
  EXPECT_EQ(result_bytes(graph, "n_z"), 4.0 * 7);  // 7 x 12 summed over the second
}

// Detectors scale their images to sides that they compute: 300 of 300 x 400, times 800 / 300.
TEST(Onnx, SizesComputedByFloats) {
  const graph::Graph graph =
      read(model({.nodes = {node("Shape", {"x"}, {"s"}),
                            node("Slice", {"s", "two", "four"}, {"sides"}),
                            node("ReduceMin", {"sides"}, {"least"}, {attribute("keepdims", 0)}),
                            node("Cast", {"least"}, {"f"}, {attribute("to", kFloat)}),
                            node("Reciprocal", {"f"}, {"r"}),
                            node("Cast", {"wanted"}, {"w"}, {attribute("to", kFloat)}),
                            node("Mul", {"r", "w"}, {"scale"}),
                            node("Cast", {"sides"}, {"g"}, {attribute("to", kFloat)}),
                            node("Mul", {"g", "scale"}, {"h"}), node("Floor", {"h"}, {"i"}),
                            node("Cast", {"i"}, {"j"}, {attribute("to", kInt64)}),
                            node("Slice", {"s", "zero", "two"}, {"lead"}),
                            node("Concat", {"lead", "j"}, {"sizes"}, {attribute("axis", 0)}),
                            node("Resize", {"x", "", "", "sizes"}, {"y"})},
                  .initializers = {int64s("zero", {0}), int64s("two", {2}), int64s("four", {4}),
                                   tensor("wanted", kInt64, {}, {800})},
                  .inputs = {value("x", kFloat, {"1", "3", "300", "400"})},
                  .outputs = {value("y", kFloat, {})}}))
          .graph;
  EXPECT_THAT(names(graph), ElementsAre("n_y"));
  EXPECT_EQ(result_bytes(graph, "n_y"), 4.0 * 3 * 800 * 1066);
}

// As many as are not zero: known where the data is.
TEST(Onnx, PlacesOfConstantsFoldAway) {
  const Imported imported =
      read(model({.nodes = {node("NonZero", {"k"}, {"n"}), node("Transpose", {"n"}, {"t"}),
                            node("GatherND", {"x", "t"}, {"y"})},
                  .initializers = {int64s("k", {0, 4, 0, 1, 2})},
                  .inputs = {value("x", kFloat, {"5", "10"})},
                  .outputs = {value("y", kFloat, {})}}));
  EXPECT_EQ(result_bytes(imported.graph, "n_y"), 4.0 * 3 * 10);
  EXPECT_THAT(imported.notes, Not(Contains(HasSubstr("depend on the data"))));
}

TEST(Onnx, SymbolicDimensions) {
  const std::string bytes_of_model =
      model({.nodes = {node("Relu", {"x"}, {"y"})},
             .inputs = {value("x", kHalf, {"batch", "seq_len", "?", "64"})},
             .outputs = {value("y", kHalf, {})}});
  const Imported open = read(bytes_of_model);
  EXPECT_EQ(result_bytes(open.graph, "n_y"), 2.0 * 1 * 128 * 1 * 64);
  EXPECT_THAT(open.notes, Contains(HasSubstr("dimension 'batch' is not bound: taken as 1")));
  EXPECT_THAT(open.notes, Contains(HasSubstr("dimension 'seq_len' is not bound: taken as 128")));
  EXPECT_THAT(open.notes, Contains(HasSubstr("dimension 'x.2' is not bound")));
  const Imported bound = read(
      bytes_of_model, {.dimensions = {{"batch", 8}, {"seq_len", 10}, {"x.2", 3}, {"other", 1}}});
  EXPECT_EQ(result_bytes(bound.graph, "n_y"), 2.0 * 8 * 10 * 3 * 64);
  EXPECT_THAT(bound.notes, Not(Contains(HasSubstr("not bound"))));
  EXPECT_THAT(bound.notes,
              Contains(HasSubstr("dimension other=1: the model has no such dimension")));
}

// As exporters leave them that give dimensions no name, or one that says nothing.
TEST(Onnx, OpenSidesOfImages) {
  EXPECT_EQ(open_bytes(kFloat, {"p2o.DynamicDimension.0", "3", "p2o.DynamicDimension.1",
                                "p2o.DynamicDimension.2"}),
            4.0 * 3 * 224 * 224);
  EXPECT_EQ(open_bytes(kFloat, {"?", "3", "48", "?"}), 4.0 * 3 * 48 * 224);
  EXPECT_EQ(open_bytes(kHalf, {"1", "?", "?", "4"}), 2.0 * 224 * 224 * 4);
  EXPECT_EQ(open_bytes(kUint8, {"unk__1", "unk__2", "unk__3", "3"}), 1.0 * 224 * 224 * 3);
  // The meaning of a name, the batch's name, and the user's size go before the position.
  EXPECT_EQ(open_bytes(kFloat, {"?", "1", "time", "?"}), 4.0 * 128 * 224);
  EXPECT_EQ(open_bytes(kFloat, {"?", "3", "batch", "?"}), 4.0 * 3 * 224);
  EXPECT_EQ(open_bytes(kFloat, {"None", "3", "None", "?"}), 4.0 * 3 * 224);
  EXPECT_EQ(open_bytes(kFloat, {"?", "3", "?", "?"}, {.dimensions = {{"x.3", 100}}}),
            4.0 * 3 * 224 * 100);
  // Tokens.
  EXPECT_EQ(open_bytes(kInt64, {"unk__1", "unk__2"}), 8.0 * 128);
  // Sound, but not rows of a table.
  EXPECT_EQ(open_bytes(kFloat, {"batch", "num_samples"}), 4.0 * 16000);
  EXPECT_EQ(open_bytes(kFloat, {"n_samples", "30"}), 4.0 * 30);
}

TEST(Onnx, OpenDimensionsOfOneName) {
  const Imported imported = read(model(
      {.nodes = {node("Neg", {"rows"}, {"a"}), node("Relu", {"x"}, {"b"})},
       .inputs = {value("rows", kFloat, {"side"}), value("x", kFloat, {"1", "3", "side", "?"})},
       .outputs = {value("a", kFloat, {}), value("b", kFloat, {})}}));
  EXPECT_EQ(result_bytes(imported.graph, "n_a"), 4.0 * 224);
  EXPECT_EQ(result_bytes(imported.graph, "n_b"), 4.0 * 3 * 224 * 224);
  for (const std::string& name : Names{"side", "x.3"}) {
    EXPECT_THAT(imported.notes, Contains("dimension '" + name + "' is not bound: taken as 224 " +
                                         "(set with dimension " + name + "=N)"));
  }
}

TEST(Onnx, UnknownOperatorsAreListed) {
  const Imported imported = read(model({.nodes = {node("Fancy", {"x"}, {"y"}, {}, "com.acme"),
                                                  node("Fancy", {"y"}, {"z"}, {}, "com.acme")},
                                        .inputs = {value("x", kFloat, {"6"})},
                                        .outputs = {value("z", kFloat, {"9"})}}));
  EXPECT_THAT(imported.notes, Contains(HasSubstr("without a rule, taken as one flop per element: "
                                                 "com.acme.Fancy (2)")));
  EXPECT_EQ(result_bytes(imported.graph, "n_y"), 24.0);  // like its input
  EXPECT_EQ(result_bytes(imported.graph, "n_z"), 36.0);  // as declared
}

TEST(Onnx, NodesInAnyOrder) {
  const graph::Graph graph =
      read(model({.nodes = {node("Relu", {"a"}, {"b"}), node("Neg", {"x"}, {"a"})},
                  .inputs = {value("x", kFloat, {"6"})},
                  .outputs = {value("b", kFloat, {})}}))
          .graph;
  EXPECT_EQ(graph.edge_count(), 1u);
}

TEST(Onnx, SaysWhatBecameOfItsNodes) {
  const OnnxImported read_model = read_onnx_nodes(
      "m.onnx",
      model({.nodes = {node("Constant", {}, {"k"}, {tensor_attribute("value", int64s("", {3, 2}))}),
                       node("Relu", {"x"}, {"a"}), node("Reshape", {"a", "k"}, {"b"}),
                       node("Neg", {"b"}, {"c"})},
             .inputs = {value("x", kFloat, {"6"})},
             .outputs = {value("c", kFloat, {})}}),
      {});
  const NodeId relu = find(read_model.imported.graph, "n_a"),
               neg = find(read_model.imported.graph, "n_c");
  EXPECT_THAT(read_model.node_of, ElementsAre(NodeId{}, relu, relu, neg));
}

TEST(Onnx, DamagedModels) {
  EXPECT_THAT(error_in(""), HasSubstr("m.onnx: byte 0: not an ONNX model"));
  EXPECT_THAT(error_in("garbage"), HasSubstr("m.onnx: byte "));
  const std::string good = model({.nodes = {node("Relu", {"x"}, {"y"})},
                                  .inputs = {value("x", kFloat, {"6"})},
                                  .outputs = {value("y", kFloat, {})}});
  for (std::size_t length = 0; length < good.size(); ++length) {
    // Only the operators' version may be missing.
    if (good.substr(0, length) != good.substr(0, good.size() - 4)) {
      EXPECT_THAT(error_in(good.substr(0, length)), HasSubstr("m.onnx: byte ")) << length;
    }
  }
  EXPECT_THAT(error_in(model({.nodes = {node("Relu", {"gone"}, {"y"})}})),
              HasSubstr("node 'n_y' reads 'gone', which nothing gives"));
  EXPECT_THAT(
      error_in(model({.nodes = {node("Add", {"a", "b"}, {"b"}), node("Add", {"b", "b"}, {"a"})}})),
      HasSubstr("depends on itself (a cycle)"));
  EXPECT_THAT(error_in(model({.nodes = {node("Relu", {"x"}, {"y"}), node("Neg", {"x"}, {"y"})},
                              .inputs = {value("x", kFloat, {"6"})}})),
              HasSubstr("value 'y' is given twice"));
  EXPECT_THAT(error_in(model({.initializers = {tensor("w", kFloat, {1 << 30, 1 << 30, 1 << 30})}})),
              HasSubstr("too many elements"));
  EXPECT_THAT(error_in(model({.initializers = {tensor("w", kFloat, {-3})}})),
              HasSubstr("negative size"));
  EXPECT_THAT(error_in(model({.outputs = {value("y", kFloat, {})}})),
              HasSubstr("nothing gives the model's output 'y'"));
  // A function that calls itself.
  const std::string endless = bytes(1, "F") + bytes(4, "a") + bytes(5, "b") +
                              bytes(7, node("F", {"a"}, {"b"}, {}, "d")) + bytes(10, "d");
  EXPECT_THAT(error_in(model({.nodes = {node("F", {"x"}, {"y"}, {}, "d")},
                              .inputs = {value("x", kFloat, {"6"})}},
                             13, {endless})),
              HasSubstr("nested deeper than 32"));
}

}  // namespace
}  // namespace doppler::formats
