#include "doppler/formats/ncnn/ncnn_layers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/formats/ncnn/ncnn.h"
#include "doppler/formats/ncnn/ncnn_rules.h"
#include "doppler/graph/graph.h"
#include "support/errors.h"
#include "support/read_graph.h"

namespace doppler::formats {
namespace {

using test::node;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

Imported costed_ncnn(std::string_view text) {
  return read_ncnn("net.param", text, {});
}
double elements(const graph::Graph& graph, std::string_view name, std::size_t i = 0) {
  return graph.bytes(graph.outputs(node(graph, name))[i]).value() / 4.0;
}

TEST(NcnnExpression, Lists) {
  const NcnnShape inputs[] = {{3, 8, 6, 1, 4}, {2, 10, 20}};
  EXPECT_THAT(ncnn_evaluate("/(0w,2),*(0h,2),0c", inputs), Optional(ElementsAre(4, 12, 4)));
  EXPECT_THAT(ncnn_evaluate("64,1w,1h", inputs), Optional(ElementsAre(64, 10, 20)));
  EXPECT_THAT(ncnn_evaluate("-(max(0w,1h),neg(1)),-1", inputs), Optional(ElementsAre(21, -1)));
  EXPECT_THAT(ncnn_evaluate("floor(/(1w,4))", inputs), Optional(ElementsAre(2)));
  for (const char* damaged : {"", "2w", "0x", "+(1", "what(1)", "/(1,0)", "(((,)"}) {
    EXPECT_FALSE(ncnn_evaluate(damaged, inputs)) << damaged;
  }
}

TEST(NcnnLayers, ShapesFromExpressions) {
  const graph::Graph graph = costed_ncnn(R"net(7767517
6 6
Input   x     0 1 x 0=16 1=10 2=8
Input   like  0 1 like 0=20 1=4 2=3
Reshape shape 2 1 x like r 6="-1,1h,16"
Crop    crop  1 1 r c 19="0,2" 20="/(0w,2),4" 21="2,1"
Interp  up    1 1 x u 0=1 9="*(0w,3),*(0h,2)"
BinaryOp add  2 1 c u s 0=0
)net")
                                 .graph;
  // 1280 elements as 20 x 4 x 16; of 20 the first 10, of 4 the last 2.
  EXPECT_EQ(elements(graph, "crop"), 10 * 2 * 16);
  EXPECT_EQ(elements(graph, "up"), 48 * 20 * 8);
}

// Weights of one value for each channel, as in squeeze and excitation; of one row, as in attention.
TEST(NcnnLayers, FewerDimensionsAreTheOutermost) {
  const graph::Graph graph = costed_ncnn(R"(7767517
8 9
Input       x    0 1 x 0=7 1=7 2=96
Split       s    1 2 x x0 x1
Pooling     pool 1 1 x0 p 0=1 4=1
Convolution gate 1 1 p g 0=96 1=1 5=1 6=9216
BinaryOp    mul  2 1 x1 g y 0=2
Input       t    0 1 t 0=32 1=5
MemoryData  row  0 1 row 0=32
BinaryOp    add  2 1 t row z 0=0
)")
                                 .graph;
  EXPECT_EQ(elements(graph, "gate"), 96);
  EXPECT_EQ(graph.flops(node(graph, "gate")), 2.0 * 96 * 96);
  EXPECT_EQ(elements(graph, "mul"), 7 * 7 * 96);
  EXPECT_EQ(elements(graph, "add"), 32 * 5);
}

TEST(NcnnLayers, PermutingFourDimensions) {
  const graph::Graph graph = costed_ncnn(R"(7767517
5 5
Input   x   0 1 x 0=400 1=32 11=2 2=4
Permute p   1 1 x y 0=1
MatMul  qk  2 1 y x z
Permute q   1 1 x w 0=23
MatMul  two 2 1 w w v 0=1
)")
                                 .graph;
  // 32 x 400 as 400 rows of 32, with 32 rows of 400; 8 of them.
  EXPECT_EQ(elements(graph, "qk"), 400 * 400 * 8);
  EXPECT_EQ(graph.flops(node(graph, "qk")), 2.0 * 400 * 400 * 8 * 32);
  // c, d, h, w: rows of 4.
  EXPECT_EQ(graph.flops(node(graph, "two")), 2.0 * 2 * 2 * (32 * 400) * 4);
}

TEST(NcnnLayers, QuantisedWeights) {
  const Imported imported = costed_ncnn(R"(7767517
5 5
Input        x  0 1 x 0=64 1=8
Gemm         g8 1 1 x a 3=1 5=1 6=1 8=64 9=64 10=-1 18=2
Gemm         g4 1 1 a b 3=1 5=1 6=1 8=64 9=64 10=-1 18=401
InnerProduct i8 1 1 b c 0=64 2=4096 8=2
InnerProduct f  1 1 c d 0=64 2=4096
)");
  const auto weight_bytes = [&](const char* name) {
    const graph::Graph& graph = imported.graph;
    return graph.bytes(graph.inputs(node(graph, name))[1]).value();
  };
  EXPECT_EQ(weight_bytes("g8"), 64 * 64);
  EXPECT_EQ(weight_bytes("g4"), 64 * 64 / 2);
  EXPECT_EQ(weight_bytes("i8"), 64 * 64);
  EXPECT_EQ(weight_bytes("f"), 64 * 64 * 4);
  EXPECT_THAT(imported.notes, Contains(HasSubstr("quantised weights of 3 layers")));
}

// A layer of a language model with linear attention, as pnnx writes it.
TEST(NcnnLayers, GatedDeltaRule) {
  const Imported imported = costed_ncnn(R"(7767517
16 21
Input      x     0 1 x
Input      cache 0 2 state window
MemoryData a     0 1 a 0=16
MemoryData b     0 1 b 0=16
MemoryData taps  0 1 taps 0=4 1=1 2=6144
Split      s     1 3 x x0 x1 x2
Gemm       qkv   1 1 x2 p 3=1 5=1 6=1 8=6144 9=1024 10=-1
Gemm       ga    1 1 x1 ga 3=1 5=1 6=1 8=16 9=1024 10=-1
Gemm       gb    1 1 x0 gb 3=1 5=1 6=1 8=16 9=1024 10=-1
ShortConv  conv  3 2 taps p window c new_window
Slice      cut   1 3 c q0 k0 v0 -23300=3,2048,2048,2048 1=1
Reshape    rq    1 1 q0 q 0=128 1=16 2=-1
Reshape    rk    1 1 k0 k 0=128 1=16 2=-1
Reshape    rv    1 1 v0 v 0=128 1=16 2=-1
GatedDeltaRule rule 8 2 a b ga gb q k v state o new_state
Reshape    ro    1 1 o out 0=2048 1=-1
)");
  const graph::Graph& graph = imported.graph;
  EXPECT_THAT(imported.notes, Not(Contains(HasSubstr("has no rule"))));
  EXPECT_EQ(elements(graph, "conv"), 6144 * 128);
  EXPECT_EQ(graph.flops(node(graph, "conv")), 2.0 * 4 * 6144 * 128);
  EXPECT_EQ(elements(graph, "rule", 0), 128 * 16 * 128);  // values, heads, tokens
  EXPECT_EQ(elements(graph, "rule", 1), 128 * 128 * 16);
  EXPECT_EQ(graph.flops(node(graph, "rule")), 7.0 * 128 * 128 * 16 * 128);
}

TEST(NcnnLayers, OthersOfSpeechAndDetection) {
  const graph::Graph graph = costed_ncnn(R"(7767517
13 13
Input       x     0 1 x 0=10 1=6 2=8
GLU         glu   1 1 x a 0=0
Unfold      cols  1 1 x b 1=3 4=1
Input       grid  0 1 grid 0=2 1=5 2=7
GridSample  grids 2 1 x grid c
Einsum      sum   2 1 x x d -23300=12,105,106,107,44,105,108,107,45,62,105,106,108
Input       wave  0 1 wave 0=16000
Spectrogram fft   1 1 wave e 0=400 1=2 2=160
PriorBox    boxes 2 1 x grid f -23300=1,60 -23302=2,2,3
ArgMax      max   1 1 e g 1=5
MemoryData  row   0 1 row 0=4
Mystery     m1    2 1 row x h
DetectionOutput found 3 1 f f f i 3=50
)")
                                 .graph;
  EXPECT_EQ(elements(graph, "glu"), 10 * 6 * 4);
  EXPECT_EQ(elements(graph, "cols"), (10 * 6) * (9 * 8));
  EXPECT_EQ(elements(graph, "grids"), 5 * 7 * 8);
  // ijk,ilk->ijl of 8 x 6 x 10.
  EXPECT_EQ(elements(graph, "sum"), 8 * 6 * 6);
  EXPECT_EQ(graph.flops(node(graph, "sum")), 2.0 * 8 * 6 * 6 * 10);
  EXPECT_EQ(elements(graph, "fft"), 101 * 201);
  EXPECT_EQ(elements(graph, "boxes"), 2 * 4 * (10 * 6) * (1 + 2 * 2));
  EXPECT_EQ(elements(graph, "max"), 5);
  EXPECT_EQ(elements(graph, "found"), 6 * 50);
  EXPECT_EQ(elements(graph, "m1"), 10 * 6 * 8);  // trained data is not what it works on
}

TEST(NcnnLayers, AttentionWithOtherWidths) {
  const graph::Graph graph = costed_ncnn(R"(7767517
3 3
Input x 0 1 x 0=64 1=10
Input y 0 1 y 0=32 1=20
MultiHeadAttention a 3 1 x y y z 0=48 1=4 2=3072 3=32 4=32
)")
                                 .graph;
  // Queries and results 64 <-> 48, keys and values 32 -> 48; scores and their sum over 20 keys.
  EXPECT_EQ(graph.flops(node(graph, "a")),
            2.0 * (2 * 64 * 48 * 10 + 2 * 32 * 48 * 20) + 2.0 * 2 * 10 * 20 * 48);
  EXPECT_EQ(elements(graph, "a"), 64 * 10);
  EXPECT_EQ(graph.bytes(graph.inputs(node(graph, "a"))[3]),
            4.0 * (2 * 64 * 48 + 2 * 32 * 48 + 4 * 48));
}

// The sides of images and the number of tokens follow from what Reshapes ask for.
TEST(NcnnLayers, GuessedSizesFitTheReshapes) {
  const Imported image = costed_ncnn(R"(7767517
8 9
Input       in   0 1 in
Input       text 0 1 text
Convolution conv 1 1 in a 0=320 1=3 4=1 6=11520
Permute     p    1 1 a b 0=3
Reshape     r    1 1 b c 0=320 1=4096
LayerNorm   n    1 1 c d 0=320
MultiHeadAttention m 3 1 d text text e 0=320 1=8 2=102400 3=768 4=768
Reshape     s    1 1 e f 0=320 1=64 2=64
)");
  EXPECT_THAT(image.notes, Contains(HasSubstr("'in': taken as w=64 h=64 c=4")));
  EXPECT_THAT(image.notes, Contains(HasSubstr("'text': taken as w=768 h=128")));
  EXPECT_THAT(image.notes, Not(Contains(HasSubstr("gives"))));
  EXPECT_EQ(elements(image.graph, "conv"), 64 * 64 * 320);

  const Imported tokens = costed_ncnn(R"(7767517
3 3
Input   in 0 1 in
Embed   e  1 1 in a 0=768 1=49408 3=37945344
Reshape r  1 1 a b 0=64 1=12 2=77
)");
  EXPECT_THAT(tokens.notes, Contains(HasSubstr("'in': taken as w=77 h=1 c=1")));

  const Imported neither = costed_ncnn(R"(7767517
3 3
Input   in 0 1 in 0=10 1=10
Reshape r  1 1 in a 0=64 1=12 2=77
ReLU    x  1 1 a b
)");
  EXPECT_THAT(neither.notes,
              Contains(HasSubstr("layer 'r' gives 100 elements the shape of 59136")));
}

TEST(NcnnLayers, SequencesOfSpeech) {
  const Imported imported = costed_ncnn(R"(7767517
4 4
Input         x    0 1 x
Convolution1D conv 1 1 x a 0=96 1=5 4=2 6=92160
Input         y    0 1 y
LSTM          lstm 1 1 y b 0=128 1=131584 2=0
)");
  // 92160 = 96 x 5 x 192 channels; 131584 = 4 gates of 128 x 257.
  EXPECT_THAT(imported.notes, Contains(HasSubstr("'x': taken as w=128 h=192")));
  EXPECT_THAT(imported.notes, Contains(HasSubstr("'y': taken as w=257 h=128")));
  EXPECT_EQ(imported.graph.flops(node(imported.graph, "conv")), 2.0 * 92160 * 128);
}

TEST(NcnnLayers, ImagesBesideEachOther) {
  const Imported imported = costed_ncnn(R"(7767517
5 5
Input       a    0 1 a
Input       b    0 1 b
Concat      cat  2 1 a b c
Interp      half 1 1 c d 0=2 1=0.5 2=0.5
Convolution conv 1 1 d e 0=16 1=3 4=1 6=864
)");
  EXPECT_THAT(imported.notes, Contains(HasSubstr("'a': taken as w=224 h=224 c=3")));
  EXPECT_THAT(imported.notes, Contains(HasSubstr("'b': taken as w=224 h=224 c=3")));
  EXPECT_EQ(imported.graph.flops(node(imported.graph, "conv")), 2.0 * 864 * 112 * 112);
}

TEST(NcnnLayers, WeightsThatAreComputed) {
  const graph::Graph graph = costed_ncnn(R"(7767517
3 3
Input x 0 1 x 0=8 1=8 2=3
Input k 0 1 k 0=3 1=3 11=3 2=16
Convolution c 2 1 x k y 0=16 1=3 4=1 19=1
)")
                                 .graph;
  EXPECT_EQ(graph.flops(node(graph, "c")), 2.0 * (3 * 3 * 3 * 16) * 8 * 8);
}

TEST(NcnnLayers, GraphsOfPnnxAreRefused) {
  for (const char* line : {"nn.Conv2d c 1 1 0 1 bias=True", "pnnx.Input j 0 1 1 #1=(1,3,8,8)f32"}) {
    const std::string text = std::string("7767517\n2 2\nInput i 0 1 0\n") + line + "\n";
    EXPECT_THAT(test::error_of([&] { costed_ncnn(text); }), HasSubstr("this is pnnx's own graph"))
        << line;
  }
}

TEST(NcnnLayers, ExpressionsThatCannotBeReadAreNoted) {
  const auto notes = [](const char* sizes) {
    return costed_ncnn(fmt::format("7767517\n3 3\nInput in 0 1 in 0=8 1=8 2=4\n"
                                   "Reshape r 1 1 in a 6=\"{}\"\nReLU relu 1 1 a b\n",
                                   sizes))
        .notes;
  };
  EXPECT_THAT(notes("64,1w"), Contains(HasSubstr("sizes of 1 layers, the first 'r'")));
  EXPECT_THAT(notes("64,0c"), Not(Contains(HasSubstr("sizes of"))));
}

}  // namespace
}  // namespace doppler::formats
