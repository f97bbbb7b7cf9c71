#include "doppler/formats/ncnn/ncnn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/graph/graph.h"
#include "support/errors.h"
#include "support/read_graph.h"

namespace doppler::formats {
namespace {

using test::error_of;
using test::node;
using test::result_bytes;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Imported imported_ncnn(std::string_view text, const ImportOptions& options = {}) {
  return read_ncnn("net.param", text, options);
}
std::string ncnn_error(std::string_view text) {
  return error_of([&] { imported_ncnn(text); });
}

constexpr std::string_view kSmallNet = R"(7767517
7 8
Input       data  0 1 data 0=16 1=16 2=3
Convolution conv  1 1 data a 0=8 1=3 3=2 4=1 5=1 6=216
Split       split 1 2 a a0 a1
ReLU        relu  1 1 a0 b
Concat      cat   2 1 b a1 c 0=0
Pooling     pool  1 1 c d 0=1 4=1
InnerProduct fc   1 1 d e 0=10 1=1 2=160
)";

TEST(Ncnn, SmallNet) {
  const Imported imported = imported_ncnn(kSmallNet);
  const graph::Graph& graph = imported.graph;
  EXPECT_EQ(graph.name(), "net");
  ASSERT_EQ(graph.node_count(), 5u);  // Input and Split are no work
  // 3x3 with stride 2 and padding 1 of 16x16 gives 8x8 of 8 channels.
  EXPECT_EQ(result_bytes(graph, "conv"), 8 * 8 * 8 * 4);
  // 216 weights, each used at 64 places, a multiplication and an addition.
  EXPECT_EQ(graph.flops(node(graph, "conv")), 2 * 216 * 64);
  // The image of 3x16x16 and 216 weights with 8 biases.
  EXPECT_EQ(graph.bytes_read(node(graph, "conv")), (768 + 224) * 4);
  EXPECT_EQ(result_bytes(graph, "cat"), 2 * 8 * 8 * 8 * 4);
  EXPECT_EQ(result_bytes(graph, "pool"), 16 * 4);
  EXPECT_EQ(graph.flops(node(graph, "fc")), 2 * 160);
  EXPECT_TRUE(graph.is_output(graph.outputs(node(graph, "fc"))[0]));
  // Both readers of the split blob read the convolution's own result.
  EXPECT_EQ(graph.consumers(graph.outputs(node(graph, "conv"))[0]).size(), 2u);
  const TensorId weights = graph.inputs(node(graph, "fc"))[1];
  EXPECT_EQ(graph.role(weights), graph::TensorRole::kParameter);
  EXPECT_EQ(graph.bytes(weights), 170 * 4);
  EXPECT_THAT(imported.notes, Contains(HasSubstr("1 layers that only rename")));
}

TEST(Ncnn, HintsComeBeforeRules) {
  const graph::Graph graph = imported_ncnn(R"(7767517
2 2
Input data 0 1 data -23330=4,3,10,10,2 0=10 1=10 2=2
Mystery odd 1 1 data out -23330=4,2,5,6,1
)")
                                 .graph;
  EXPECT_EQ(result_bytes(graph, "odd"), 30 * 4);
}

TEST(Ncnn, ReshapePermuteSliceAndBroadcast) {
  const graph::Graph graph = imported_ncnn(R"(7767517
6 7
Input   in    0 1 in 0=4 1=6 2=8
Permute perm  1 1 in p 0=3
Reshape shape 1 1 p r 0=-1 1=4
Slice   cut   1 2 r s0 s1 -23300=2,30,-233 1=1
BinaryOp add  2 1 s0 s1 t 0=0
MatMul  mul   2 1 s0 s1 u 0=1
)")
                                 .graph;
  // Order 3 of w=4 h=6 c=8 is w=8 h=4 c=6; reshaped to 48 x 4; cut along w in 30 and 18.
  EXPECT_EQ(result_bytes(graph, "cut", 0), 30 * 4 * 4);
  EXPECT_EQ(result_bytes(graph, "cut", 1), 18 * 4 * 4);
  EXPECT_EQ(result_bytes(graph, "add"), 30 * 4 * 4);  // the larger of both
  EXPECT_EQ(graph.flops(node(graph, "mul")), 2.0 * 4 * 4 * 30);
}

TEST(Ncnn, OpenSizesAreGuessedOrGiven) {
  constexpr std::string_view kText = R"(7767517
2 2
Input in   0 1 in
Gemm  gemm 1 1 in out 3=1 5=1 6=1 8=32 9=64 10=4
)";
  const Imported guessed = imported_ncnn(kText);
  EXPECT_EQ(guessed.graph.flops(node(guessed.graph, "gemm")), 2.0 * 128 * 32 * 64);
  EXPECT_THAT(guessed.notes, Contains(HasSubstr("no shape for input 'in': taken as w=64 h=128")));
  const Imported given = imported_ncnn(kText, {.dimensions = {{"in.h", 10}}});
  EXPECT_EQ(given.graph.flops(node(given.graph, "gemm")), 2.0 * 10 * 32 * 64);
}

// The sizes that the first layer with weights wants are passed on through the layers before it.
TEST(Ncnn, FocusInFrontOfTheFirstConvolution) {
  const Imported imported = imported_ncnn(R"(7767517
3 3
Input       images 0 1 images
YoloV5Focus focus  1 1 images 207
Convolution conv   1 1 207 208 0=32 1=3 4=1 5=1 6=3456
)");
  const graph::Graph& graph = imported.graph;
  // 3456 weights = 32 x 3 x 3 x 12: 12 channels, of 2 x 2 pixels of 3. 224 x 224 is halved.
  EXPECT_THAT(imported.notes, Contains(HasSubstr("'images': taken as w=224 h=224 c=3")));
  EXPECT_THAT(imported.notes, Not(Contains(HasSubstr("has no rule"))));
  EXPECT_EQ(graph.flops(node(graph, "focus")), 0.0);
  EXPECT_EQ(result_bytes(graph, "focus"), 112 * 112 * 12 * 4);
  EXPECT_EQ(result_bytes(graph, "conv"), 112 * 112 * 32 * 4);
  EXPECT_EQ(graph.flops(node(graph, "conv")), 2.0 * 3456 * 112 * 112);
}

TEST(Ncnn, ElementwiseLayersInFrontOfTheFirstConvolution) {
  const Imported imported = imported_ncnn(R"(7767517
6 6
Input       data 0 1 data
BinaryOp    sub  1 1 data a 0=1 1=1 2=127.5
MemoryData  mean 0 1 mean 0=1
BinaryOp    mul  2 1 mean a b 0=2
BatchNorm   norm 1 1 b c 0=3
Convolution conv 1 1 c d 0=8 1=3 3=2 4=1 6=216
)");
  const graph::Graph& graph = imported.graph;
  // 216 weights = 8 x 3 x 3 x 3.
  EXPECT_THAT(imported.notes, Contains(HasSubstr("'data': taken as w=224 h=224 c=3")));
  EXPECT_EQ(graph.flops(node(graph, "sub")), 224.0 * 224 * 3);
  EXPECT_EQ(result_bytes(graph, "mul"), 224 * 224 * 3 * 4);
  EXPECT_EQ(graph.flops(node(graph, "conv")), 2.0 * 216 * 112 * 112);
}

TEST(Ncnn, PaddingAndScalingInFrontOfAGroupedConvolution) {
  const Imported imported = imported_ncnn(R"(7767517
6 7
Input       x     0 1 x
Split       split 1 2 x x0 x1
ReLU        relu  1 1 x1 r
Interp      half  1 1 x0 a 0=2 1=0.5 2=0.5
Padding     pad   1 1 a b 0=1 1=1 2=1 3=1
ConvolutionDepthWise conv 1 1 b c 0=32 1=3 6=1152 7=4
)");
  const graph::Graph& graph = imported.graph;
  // 1152 weights = 32 x 3 x 3 x 4: 4 channels in each of 4 groups. Nothing is asked of r.
  EXPECT_THAT(imported.notes, Contains(HasSubstr("'x': taken as w=224 h=224 c=16")));
  EXPECT_EQ(result_bytes(graph, "pad"), 114 * 114 * 16 * 4);
  EXPECT_EQ(graph.flops(node(graph, "conv")), 2.0 * 1152 * 112 * 112);
}

// The shape of a mask does not follow from what reads the result.
TEST(Ncnn, OtherInputsAreNotAskedForSizes) {
  const Imported imported = imported_ncnn(R"(7767517
4 4
Input       x     0 1 x 0=8 1=8 2=16
Input       angle 0 1 angle
RotaryEmbed turn  2 1 x angle y
Convolution conv  1 1 y z 0=4 1=1 6=64
)");
  EXPECT_THAT(imported.notes, Contains(HasSubstr("'angle': taken as w=1 h=1 c=1")));
}

TEST(Ncnn, UnknownLayersAreNoted) {
  const Imported imported =
      imported_ncnn("7767517\n2 2\nInput i 0 1 i 0=8\nFancy f 1 1 i o 0=\"a b\" 1=x\n");
  EXPECT_EQ(imported.graph.flops(node(imported.graph, "f")), 8.0);
  EXPECT_THAT(imported.notes, Contains(HasSubstr("layer type Fancy (1 times) has no rule")));
}

TEST(Ncnn, LayersWithoutResultsAreDropped) {
  const Imported imported = imported_ncnn(
      "7767517\n3 2\nInput i 0 1 i 0=4 1=4 2=4\nLSTM l 1 0 i 0=4 1=64\nReLU r 1 1 i o\n");
  EXPECT_EQ(imported.graph.node_count(), 1u);
  EXPECT_THAT(imported.notes, Contains("1 layers without results are dropped"));
}

TEST(Ncnn, AsWindowsWritesText) {
  EXPECT_EQ(imported_ncnn("\xef\xbb\xbf"
                          "7767517\r\n2 2\r\nInput i 0 1 i 0=8\r\nReLU r 1 1 i o\r\n")
                .graph.node_count(),
            1u);
}

TEST(Ncnn, SameNamesAreMadeUnique) {
  const graph::Graph graph =
      imported_ncnn("7767517\n3 3\nInput i 0 1 i 0=8\nReLU r 1 1 i a\nReLU r 1 1 a b\n").graph;
  EXPECT_TRUE(graph.find_node("r"));
  EXPECT_TRUE(graph.find_node("r.1"));
}

TEST(Ncnn, DamagedFiles) {
  EXPECT_THAT(ncnn_error(""), HasSubstr("net.param:1:1: the file ends where the magic number"));
  EXPECT_THAT(ncnn_error("7767518\n1 1\n"), HasSubstr("net.param:1:1: an ncnn param file starts"));
  EXPECT_THAT(ncnn_error("7767517\n-1 1\n"),
              HasSubstr("net.param:2:1: expected a number of layers"));
  EXPECT_THAT(ncnn_error("7767517\n2 2\nInput i 0 1 i\n"),
              HasSubstr("net.param:4:1: the file ends after 1 of 2 layers"));
  EXPECT_THAT(ncnn_error("7767517\n1 1\nReLU r 1 1 i o\n"),
              HasSubstr("net.param:3:12: blob 'i' is read before a layer writes it"));
  EXPECT_THAT(ncnn_error("7767517\n2 2\nInput i 0 1 i\nInput j 0 1 i\n"),
              HasSubstr("net.param:4:13: two layers write blob 'i'"));
  EXPECT_THAT(ncnn_error("7767517\n1 1\nInput i 0 1 i w=3\n"),
              HasSubstr("3:15: expected a parameter"));
  EXPECT_THAT(ncnn_error("7767517\n1 1\nInput i 0 1 i -23330=4,3\n"),
              HasSubstr("3:15: an array starts with the number"));
  EXPECT_THAT(ncnn_error("7767517\n1 1\nInput i 0 1 i\nInput j 0 1 j\n"),
              HasSubstr("4:1: text follows the last of the 1 layers"));
  EXPECT_THAT(ncnn_error("7767517\n1 1\nReLU r 0 1 o\n"),
              HasSubstr("3:1: layer 'r' of type ReLU reads no"));
}

}  // namespace
}  // namespace doppler::formats
