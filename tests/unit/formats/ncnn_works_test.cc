// The element types of an ncnn model's blobs and weights, and the works of its layers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "doppler/base/file.h"
#include "doppler/formats/ncnn/ncnn.h"
#include "support/read_graph.h"
#include "support/shared_graphs.h"

namespace doppler::formats {
namespace {

using kernel::Work;
using kernel::WorkClass;
using test::node;
using testing::ElementsAre;
using testing::IsEmpty;

graph::Graph ncnn_graph(std::string_view text) {
  return read_ncnn("net.param", text, {}).graph;
}
std::vector<Work> works_of(const graph::Graph& graph, std::string_view name) {
  const auto works = graph.works(node(graph, name));
  return {works.begin(), works.end()};
}
std::optional<ElementType> result_type(const graph::Graph& graph, std::string_view name) {
  return graph.element_type(graph.outputs(node(graph, name))[0]);
}
std::optional<ElementType> weight_type(const graph::Graph& graph, std::string_view name) {
  return graph.element_type(graph.inputs(node(graph, name)).back());
}

TEST(NcnnWorks, ConvolutionsAndProducts) {
  const graph::Graph graph = ncnn_graph(R"(7767517
9 9
Input        data 0 1 x 0=16 1=16 2=4
Convolution  conv 1 1 x a 0=8 1=3 3=2 4=1 5=1 6=288
ConvolutionDepthWise dw 1 1 a b 0=8 1=3 4=1 6=72 7=8
ReLU         relu 1 1 b c
Deconvolution up  1 1 c d 0=6 1=2 3=2 6=192
BatchNorm    bn   1 1 d e 0=6
Pooling      pool 1 1 e f 0=1 4=1
InnerProduct fc   1 1 f g 0=10 1=1 2=60
Softmax      soft 1 1 g h 0=0
)");
  // 8 x 8 places; each sees a window of 3 x 3 of 4 channels.
  EXPECT_THAT(works_of(graph, "conv"), ElementsAre(Work{.rows = 64, .columns = 8, .depth = 36}));
  EXPECT_THAT(works_of(graph, "dw"),
              ElementsAre(Work{.batch = 8, .rows = 64, .columns = 1, .depth = 9}));
  EXPECT_THAT(works_of(graph, "up"), ElementsAre(Work{.rows = 64, .columns = 24, .depth = 8}));
  EXPECT_THAT(works_of(graph, "bn"), ElementsAre(Work{.work_class = WorkClass::kElementwise}));
  EXPECT_THAT(works_of(graph, "pool"), ElementsAre(Work{.rows = 6, .columns = 256}));
  EXPECT_THAT(works_of(graph, "fc"), ElementsAre(Work{.rows = 1, .columns = 10, .depth = 6}));
  EXPECT_THAT(works_of(graph, "soft"), ElementsAre(Work{.rows = 1, .columns = 10}));
  EXPECT_EQ(result_type(graph, "conv"), ElementType::kF32);
  EXPECT_EQ(weight_type(graph, "conv"), ElementType::kF32);
}

TEST(NcnnWorks, TransformersAndRecurrentLayers) {
  const graph::Graph graph = ncnn_graph(R"(7767517
8 8
Input        data 0 1 x 0=32 1=5
LayerNorm    norm 1 1 x a 0=32
MultiHeadAttention mha 1 1 a b 0=32 1=4 2=1024
Gemm         up   1 1 b c 3=1 5=1 6=1 8=128 9=32 10=4
LSTM         lstm 1 1 c d 0=16 1=16384 2=2
Input        m    0 1 m 0=32 1=7 2=3
Input        n    0 1 n 0=9 1=32 2=3
MatMul       mul  2 1 m n y
)");
  EXPECT_THAT(works_of(graph, "norm"), ElementsAre(Work{.rows = 5, .columns = 32}));
  EXPECT_THAT(works_of(graph, "up"), ElementsAre(Work{.rows = 5, .columns = 128, .depth = 32}));
  EXPECT_THAT(works_of(graph, "mul"),
              ElementsAre(Work{.batch = 3, .rows = 7, .columns = 9, .depth = 32}));
  // Queries, keys, values and the result are projected alike.
  const std::vector<Work> attention = works_of(graph, "mha");
  ASSERT_EQ(attention.size(), 2u);
  EXPECT_EQ(attention[0].work_class, WorkClass::kProduct);
  EXPECT_EQ(attention[0].count, 4);
  EXPECT_EQ(attention[0].flops, 2.0 * 5 * 32 * 32);
  EXPECT_EQ(attention[0].bytes_read, 4.0 * (5 * 32 + 32 * 32));
  EXPECT_EQ(attention[1].flops, 4.0 * 5 * 5 * 32);
  EXPECT_EQ(4 * *attention[0].flops + *attention[1].flops, graph.flops(node(graph, "mha")));
  const std::vector<Work> steps = works_of(graph, "lstm");
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].batch, 2);
  EXPECT_EQ(steps[0].rows, 5);
  EXPECT_EQ(steps[0].columns, 64);
  EXPECT_EQ(steps[0].depth, 128);
  EXPECT_EQ(steps[1].count, 10);
  EXPECT_EQ(steps[1].flops, 2.0 * 64 * 16);
  EXPECT_EQ(*steps[0].flops + 10 * *steps[1].flops, graph.flops(node(graph, "lstm")));
}

// Weights of 8 bits mean products of integers; blocks of 4 bits are only stored so.
TEST(NcnnWorks, QuantisedLayers) {
  const graph::Graph graph = ncnn_graph(R"(7767517
7 7
Input        data 0 1 x 0=16 1=16 2=4
Convolution  c1   1 1 x a 0=8 1=1 6=32 8=102
ReLU         relu 1 1 a b
Convolution  c2   1 1 b c 0=8 1=1 6=64 8=2
Reshape      r    1 1 c d 0=8 1=-1
Gemm         g4   1 1 d e 3=1 5=1 8=64 9=8 10=-1 18=401
Gemm         g6   1 1 e f 3=1 5=1 8=64 9=64 10=-1 18=601
)");
  // The first gives integers to the second: 2048 of a byte.
  EXPECT_EQ(result_type(graph, "c1"), ElementType::kI8);
  EXPECT_EQ(result_type(graph, "relu"), ElementType::kI8);
  EXPECT_EQ(result_type(graph, "c2"), ElementType::kF32);
  EXPECT_EQ(weight_type(graph, "c1"), ElementType::kI8);
  const std::vector<Work> first = works_of(graph, "c1");
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].type, ElementType::kI8);
  EXPECT_EQ(first[0].rows, 256);
  EXPECT_EQ(graph.bytes_written(node(graph, "c1")), 8 * 256.0);
  EXPECT_EQ(works_of(graph, "c2")[0].type, ElementType::kI8);
  EXPECT_EQ(graph.bytes_read(node(graph, "c2")), 8 * 256.0 + 64);
  EXPECT_EQ(weight_type(graph, "g4"), ElementType::kI4);
  EXPECT_EQ(weight_type(graph, "g6"), std::nullopt);
  EXPECT_THAT(works_of(graph, "g4"), ElementsAre(Work{.rows = 256, .columns = 64, .depth = 8}));
}

TEST(NcnnWorks, CastsAreFollowed) {
  const graph::Graph graph = ncnn_graph(R"(7767517
6 6
Input        data 0 1 x 0=16 1=10
Cast         half 1 1 x a 0=1 1=2
Split        s    1 1 a b
InnerProduct fc   1 1 b c 0=8 2=128
Cast         back 1 1 c d 0=2 1=1
Quantize     q    1 1 d e 0=1
)");
  EXPECT_EQ(result_type(graph, "half"), ElementType::kF16);
  EXPECT_EQ(result_type(graph, "fc"), ElementType::kF16);
  EXPECT_EQ(result_type(graph, "back"), ElementType::kF32);
  EXPECT_EQ(result_type(graph, "q"), ElementType::kI8);
  // Half the bytes of what is read and written, but for the weights.
  EXPECT_EQ(graph.bytes(graph.outputs(node(graph, "half"))[0]), 2.0 * 160);
  EXPECT_EQ(graph.bytes(graph.outputs(node(graph, "q"))[0]), 80.0);
  const std::vector<Work> works = works_of(graph, "fc");
  ASSERT_EQ(works.size(), 1u);
  EXPECT_EQ(works[0].type, std::nullopt);
  EXPECT_EQ(graph.bytes_read(node(graph, "fc")), 2.0 * 160 + 4.0 * 128);
  EXPECT_EQ(graph.bytes_written(node(graph, "fc")), 2.0 * 80);
}

TEST(NcnnWorks, ProductsOfRealModelsHaveTheFlopsOfTheirLayers) {
  const auto folder = test::shared_graph("ncnn");
  if (!folder) GTEST_SKIP() << "the shared graphs are not here";
  std::size_t checked = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*folder)) {
    if (entry.path().extension() != ".param") continue;
    const graph::Graph graph = ncnn_graph(read_file(entry.path()));
    for (std::size_t v = 0; v < graph.node_count(); ++v) {
      const NodeId layer = NodeId::of(v);
      const WorkClass work_class = kernel::classify_op(graph.op_kind(layer));
      if (work_class != WorkClass::kProduct && work_class != WorkClass::kConvolution) continue;
      ASSERT_EQ(graph.works(layer).size(), 1u) << graph.node_name(layer);
      const Work& work = graph.works(layer)[0];
      const double flops = graph.flops(layer).value_or(0.0);
      EXPECT_LE(std::abs(2.0 * work.batch * work.rows * work.columns * work.depth - flops),
                0.05 * flops)
          << entry.path() << " " << graph.node_name(layer);
      ++checked;
    }
  }
  EXPECT_GT(checked, 100u);
}

}  // namespace
}  // namespace doppler::formats
