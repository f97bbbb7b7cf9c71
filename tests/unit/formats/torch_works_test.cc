// Element types in traces, and the kernels that operators of PyTorch run.
#include "doppler/formats/traces/torch_works.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/formats/traces/traces.h"
#include "doppler/graph/graph.h"
#include "support/read_graph.h"

namespace doppler::formats {
namespace {

using kernel::Work;
using test::node;
using testing::ElementsAre;
using testing::IsEmpty;
using enum kernel::WorkClass;
using enum ElementType;

std::vector<Work> works(const graph::Graph& graph, std::string_view name) {
  const auto found = graph.works(node(graph, name));
  return {found.begin(), found.end()};
}

double product_flops(const Work& work) {
  return 2 * work.batch * work.rows * work.columns * work.depth;
}

TEST(TorchWorks, TypesByTheirNames) {
  constexpr std::pair<const char*, std::optional<ElementType>> kTypes[] = {
      {"float", kF32},
      {"double", kF64},
      {"c10::Half", kF16},
      {"c10::BFloat16", kBf16},
      {"long int", kI64},
      {"long", kI64},
      {"int", kI32},
      {"short int", kI16},
      {"unsigned char", kI8},
      {"signed char", kI8},
      {"bool", kBool},
      {"c10::Float8_e4m3fn", kFp8},
      {"c10::qint8", kI8},
      {"Scalar", {}},
      {"c10::complex<float>", {}}};
  for (const auto& [name, type] : kTypes) {
    EXPECT_EQ(torch_element_type(name), type) << name;
    if (type) {
      EXPECT_EQ(torch_type_bytes(name), element_bytes(*type)) << name;
    }
  }
  EXPECT_THAT(torch_types_in("Tensor(float)"), ElementsAre(kF32));
  EXPECT_THAT(torch_types_in("GenericList[Tensor(c10::Half),Tensor(long int)]"),
              ElementsAre(kF16, kI64));
  EXPECT_THAT(torch_types_in("GenericList[Int]"), IsEmpty());
  EXPECT_THAT(printed_types("['Tensor(float)', 'Int', \"GenericList[Tensor(bool)]\"]"),
              ElementsAre(kF32, std::nullopt, kBool));
  EXPECT_THAT(printed_shapes("[[512, 1024], [], [[], []], [7]]"),
              ElementsAre(ElementsAre(512, 1024), IsEmpty(), IsEmpty(), ElementsAre(7)));
  EXPECT_THAT(printed_shapes("[[5, ["), ElementsAre(ElementsAre(5)));
}

TEST(TorchWorks, ProductsHaveTheSizesOfTheirArguments) {
  struct Case {
    const char* op;
    TensorShapes inputs;
    double batch, rows, columns, depth;
  };
  const Case cases[] = {{"aten::mm", {{2, 3}, {3, 5}}, 1, 2, 5, 3},
                        {"aten::addmm", {{5}, {2, 3}, {3, 5}}, 1, 2, 5, 3},
                        {"aten::bmm", {{7, 2, 3}, {7, 3, 5}}, 7, 2, 5, 3},
                        {"aten::baddbmm", {{7, 2, 5}, {7, 2, 3}, {7, 3, 5}}, 7, 2, 5, 3},
                        {"aten::matmul", {{7, 11, 2, 3}, {7, 11, 3, 5}}, 77, 2, 5, 3},
                        {"aten::matmul", {{7, 2, 3}, {3, 5}}, 1, 14, 5, 3},
                        {"aten::mv", {{2, 3}, {3}}, 1, 2, 1, 3},
                        {"aten::linear", {{7, 2, 3}, {5, 3}, {5}}, 1, 14, 5, 3}};
  for (const Case& c : cases) {
    const TensorTypes types(c.inputs.size(), kF16);
    const std::vector<Work> found = torch_works(c.op, c.inputs, types, 1.0);
    EXPECT_THAT(found, ElementsAre(Work{.work_class = kProduct,
                                        .type = kF16,
                                        .flops = 2 * c.batch * c.rows * c.columns * c.depth,
                                        .batch = c.batch,
                                        .rows = c.rows,
                                        .columns = c.columns,
                                        .depth = c.depth}))
        << c.op;
    EXPECT_EQ(found[0].flops, torch_flops(c.op, c.inputs, 1.0)) << c.op;
  }
}

// 2 images of 8 channels become 2 of 32 on 16 x 16 places by 3 x 3 windows, once in 4 groups.
TEST(TorchWorks, ConvolutionsAndTheirGradients) {
  const std::vector<double> x{2, 8, 18, 18}, y{2, 32, 16, 16}, weights{32, 8, 3, 3};
  const double elements = 2 * 32 * 16 * 16;
  EXPECT_THAT(torch_works("aten::convolution", {x, weights}, {kF32, kF32}, elements),
              ElementsAre(Work{.work_class = kConvolution,
                               .type = kF32,
                               .flops = 2 * elements * 8 * 9,
                               .rows = 2 * 16 * 16,
                               .columns = 32,
                               .depth = 8 * 9}));
  const std::vector<double> grouped{32, 2, 3, 3};
  const std::vector<Work> four = torch_works("aten::conv2d", {x, grouped}, {}, elements);
  EXPECT_THAT(four, ElementsAre(Work{.work_class = kConvolution,
                                     .flops = 2 * elements * 2 * 9,
                                     .batch = 4,
                                     .rows = 2 * 16 * 16,
                                     .columns = 8,
                                     .depth = 2 * 9}));
  // Of the input, [2 x 18 x 18, 8], and of the weights, [8 x 3 x 3, 32].
  const std::vector<Work> backward =
      torch_works("aten::convolution_backward", {y, x, weights}, {}, 1.0);
  ASSERT_EQ(backward.size(), 2u);
  EXPECT_EQ(backward[0].rows, 2 * 18 * 18);
  EXPECT_EQ(backward[0].columns, 8);
  EXPECT_EQ(backward[1].rows, 8 * 9);
  EXPECT_EQ(backward[1].columns, 32);
  EXPECT_EQ(backward[1].depth, 2 * 16 * 16);
  for (const Work& work : backward) {
    EXPECT_EQ(work.flops, 2 * elements * 8 * 9);
    EXPECT_DOUBLE_EQ(product_flops(work), *work.flops);
  }
}

TEST(TorchWorks, OthersHaveTheirClass) {
  const auto work = [](const char* op, TensorShapes inputs) {
    return torch_works(op, inputs, {kF32, kF32}, 40.0).at(0);
  };
  EXPECT_EQ(work("aten::gelu", {{8, 5}}), (Work{.work_class = kActivation, .flops = 40}));
  EXPECT_EQ(work("aten::_softmax", {{2, 4, 5}}),
            (Work{.work_class = kSoftmax, .flops = 40, .rows = 8, .columns = 5}));
  EXPECT_EQ(work("aten::native_layer_norm", {{2, 4, 5}, {}, {5}}),
            (Work{.work_class = kNorm, .flops = 40, .rows = 8, .columns = 5}));
  EXPECT_EQ(work("aten::view", {{8, 5}}).flops, 0.0);
  const std::vector<double> queries{2, 8, 128, 64};
  EXPECT_EQ(work("aten::_scaled_dot_product_flash_attention", {queries, queries, queries}),
            (Work{.work_class = kAttention, .type = kF32, .flops = 4.0 * 2 * 8 * 128 * 128 * 64}));
  EXPECT_EQ(work("aten::mm", {}), (Work{.work_class = kProduct, .type = kF32, .flops = 40}));
}

// [2, 3] by [3, 5] and a bias, in halves, which nobody measured; then measured, and what is read
// and written stands with the work, since the node has a time instead.
TEST(TorchWorks, AProductInAnExecutionTrace) {
  const auto trace = [](const std::string& duration) {
    return read_pytorch_trace("t.json", R"et({"schema": "1.1.1", "nodes": [
 {"id": 10, "name": "aten::addmm", "ctrl_deps": 5, )et" +
                                            duration + R"et(
  "inputs": {"values": [[1,2,0,5,2,"cuda:0"],[3,4,0,6,2,"cuda:0"],[5,6,0,15,2,"cuda:0"],1],
             "shapes": [[5],[2,3],[3,5],[]],
             "types": ["Tensor(c10::Half)","Tensor(c10::Half)","Tensor(c10::Half)","Int"]},
  "outputs": {"values": [[20,21,0,10,2,"cuda:0"]], "shapes": [[2,5]],
              "types": ["Tensor(c10::Half)"]},
  "attrs": []},
 {"id": 11, "name": "aten::relu", "ctrl_deps": 5,
  "inputs": {"values": [[20,21,0,10,2,"cuda:0"]], "shapes": [[2,5]],
             "types": ["Tensor(c10::Half)"]},
  "outputs": {"values": [[22,23,0,10,2,"cuda:0"]], "shapes": [[2,5]],
              "types": ["Tensor(c10::Half)"]},
  "attrs": []}]})et")
        .graph;
  };
  Work product{.work_class = kProduct, .type = kF16, .rows = 2, .columns = 5, .depth = 3};
  const graph::Graph planned = trace("");
  EXPECT_THAT(works(planned, "aten::addmm"), ElementsAre(product));
  EXPECT_THAT(works(planned, "aten::relu"), IsEmpty());  // as its name says
  for (std::size_t t = 0; t < planned.tensor_count(); ++t) {
    EXPECT_EQ(planned.element_type(TensorId::of(t)), kF16);
  }
  const graph::Graph measured = trace("\"exclusive_dur\": 7,");
  product.flops = 2 * 2 * 3 * 5;
  product.bytes_read = (5 + 6 + 15) * 2;
  product.bytes_written = 10 * 2;
  EXPECT_THAT(works(measured, "aten::addmm"), ElementsAre(product));
  EXPECT_FALSE(measured.flops(node(measured, "aten::addmm")));
}

TEST(TorchWorks, OlderTracesHaveTypesBesideTheTensors) {
  const graph::Graph graph = read_pytorch_trace("t.json", R"et({"schema": "1.0.1", "nodes": [
 {"name": "aten::cat", "id": 3, "parent": 2, "op_schema": "aten::cat(Tensor[] tensors) -> Tensor",
  "inputs": [[[1,2,0,4,8,"cpu"],[3,4,0,4,8,"cpu"]],0], "input_shapes": [[[4],[4]],[]],
  "input_types": ["GenericList[Tensor(long int),Tensor(double)]","Int"],
  "outputs": [[5,6,0,8,8,"cpu"]], "output_shapes": [[8]], "output_types": ["Tensor(double)"]}]})et")
                                 .graph;
  std::vector<std::optional<ElementType>> types;
  for (const TensorId tensor : graph.inputs(NodeId(0))) types.push_back(graph.element_type(tensor));
  EXPECT_THAT(types, ElementsAre(kI64, kF64));
  EXPECT_EQ(graph.element_type(graph.outputs(NodeId(0))[0]), kF64);
}

TEST(TorchWorks, OpsOfTheProfilerHaveWhatTheirInputsSay) {
  const graph::Graph graph = read_kineto("t.json", R"([
 {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 50,
  "args": {"Input Dims": [[2, 3], [3, 5]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::silu", "pid": 1, "tid": 1, "ts": 60, "dur": 5,
  "args": {"Input Dims": [[2, 5]], "Input type": ["c10::BFloat16"]}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::conv2d", "pid": 1, "tid": 1, "ts": 70, "dur": 5,
  "args": {"Input Dims": [[2, 5, 8, 8], [3, 5, 3, 3]], "Input type": ["float", "float"]}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 1, "ts": 80, "dur": 5}])")
                                 .graph;
  EXPECT_THAT(works(graph, "aten::mm"), ElementsAre(Work{.work_class = kProduct,
                                                         .type = kBf16,
                                                         .flops = 2 * 2 * 3 * 5,
                                                         .bytes_read = (6 + 15) * 2,
                                                         .bytes_written = 10 * 2,
                                                         .rows = 2,
                                                         .columns = 5,
                                                         .depth = 3}));
  EXPECT_THAT(works(graph, "aten::silu"),
              ElementsAre(Work{
                  .work_class = kActivation, .flops = 10, .bytes_read = 20, .bytes_written = 20}));
  // The size of its result is not in the trace.
  EXPECT_THAT(works(graph, "aten::conv2d"), IsEmpty());
  EXPECT_THAT(works(graph, "aten::relu"), IsEmpty());
  EXPECT_EQ(graph.element_type(graph.outputs(node(graph, "aten::mm"))[0]), kBf16);
  EXPECT_EQ(graph.element_type(graph.outputs(node(graph, "aten::silu"))[0]), kF32);
}

TEST(TorchWorks, OperatorsInTracesOfChakra) {
  const graph::Graph graph = read_chakra("t.json", R"({"version": "0.0.4"}
    {"id": 1, "name": "aten::mm", "type": "COMP_NODE", "durationMicros": 7,
     "inputs": {"values": "[[1, 2, 0, 6, 2, 'cuda:0'], [3, 4, 0, 15, 2, 'cuda:0']]",
                "shapes": "[[2, 3], [3, 5]]",
                "types": "['Tensor(c10::Half)', 'Tensor(c10::Half)']"},
     "outputs": {"values": "[[5, 6, 0, 10, 2, 'cuda:0']]", "shapes": "[[2, 5]]",
                 "types": "['Tensor(c10::Half)']"}}
    {"id": 2, "name": "LAYER_GEMM", "type": "COMP_NODE", "dataDeps": [1],
     "attr": [{"name": "num_ops", "int64Val": "1000"}]})")
                                 .graph;
  EXPECT_THAT(works(graph, "aten::mm"), ElementsAre(Work{.work_class = kProduct,
                                                         .type = kF16,
                                                         .flops = 2 * 2 * 3 * 5,
                                                         .bytes_read = (6 + 15) * 2,
                                                         .bytes_written = 10 * 2,
                                                         .rows = 2,
                                                         .columns = 5,
                                                         .depth = 3}));
  EXPECT_THAT(works(graph, "LAYER_GEMM"), ElementsAre(Work{.work_class = kProduct}));
  EXPECT_EQ(graph.element_type(graph.outputs(node(graph, "aten::mm"))[0]), kF16);
}

}  // namespace
}  // namespace doppler::formats
