// Element types of HLO, and the kernels that its instructions run.
#include "doppler/formats/hlo/hlo_works.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/formats/hlo/hlo.h"
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

graph::Graph graph_of_hlo(std::string_view text) {
  return read_hlo("m.hlo", text, {}).graph;
}

// Returns the works of a node, with the class that its operation names; and, of products and lists,
// with the type of its first floating operand. The graph leaves both out.
std::vector<Work> works(const graph::Graph& graph, std::string_view name) {
  const NodeId of = node(graph, name);
  std::optional<ElementType> of_operands;
  for (const TensorId tensor : graph.inputs(of)) {
    const auto type = graph.element_type(tensor);
    if (!of_operands && type && is_floating(*type)) of_operands = type;
  }
  std::vector<Work> found(graph.works(of).begin(), graph.works(of).end());
  for (Work& work : found) {
    if (!work.work_class) work.work_class = kernel::classify_op(graph.op_kind(of));
    const bool multiplies = work.work_class == kProduct || work.work_class == kConvolution ||
                            work.work_class == kAttention;
    if (!work.type && (multiplies || found.size() > 1)) work.type = of_operands;
  }
  return found;
}

TEST(HloWorks, TensorsHaveTheTypesOfTheirShapes) {
  constexpr std::pair<const char*, std::optional<ElementType>> kTypes[] = {
      {"f64", kF64},    {"f32", kF32},      {"f16", kF16},
      {"bf16", kBf16},  {"f8e4m3fn", kFp8}, {"f8e5m2", kFp8},
      {"s64", kI64},    {"u32", kI32},      {"s16", kI16},
      {"u8", kI8},      {"s4", kI4},        {"pred", kBool},
      {"f4e2m1fn", {}}, {"c64", {}},        {"f8e4m3b11fnuz", kFp8}};
  for (const auto& [name, type] : kTypes) {
    const graph::Graph graph = graph_of_hlo(fmt::format(
        "HloModule m\nENTRY e {{ x = {0}[8,2] parameter(0) ROOT y = {0}[2,8] transpose(x), "
        "dimensions={{1,0}} }}",
        name));
    for (const TensorId tensor : {TensorId(0), TensorId(1)}) {
      EXPECT_EQ(graph.element_type(tensor), type) << name;
    }
  }
}

// 2 x 3 products of [5, 7] by [7, 11], and a product with a vector.
TEST(HloWorks, ADotIsTheProductOfItsDimensionNumbers) {
  const graph::Graph graph = graph_of_hlo(R"(HloModule m
ENTRY e {
  q = bf16[2,5,3,7] parameter(0)
  k = bf16[2,3,11,7] parameter(1)
  v = f32[7] parameter(2)
  w = f8e4m3fn[7,13] parameter(3)
  x = f8e5m2[4,7] parameter(4)
  s = f32[2,3,5,11] dot(q, k), lhs_batch_dims={0,2}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_contracting_dims={3}
  u = f32[2,5,3] dot(q, v), lhs_contracting_dims={3}, rhs_contracting_dims={0}
  f = bf16[4,13] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  i = f32[] dot(v, v), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  ROOT t = (f32[2,3,5,11], f32[2,5,3], bf16[4,13], f32[]) tuple(s, u, f, i)
})");
  EXPECT_THAT(works(graph, "s"), ElementsAre(Work{.work_class = kProduct,
                                                  .type = kBf16,
                                                  .batch = 6,
                                                  .rows = 5,
                                                  .columns = 11,
                                                  .depth = 7}));
  // Of two types it is the wider.
  EXPECT_THAT(works(graph, "u"),
              ElementsAre(Work{
                  .work_class = kProduct, .type = kF32, .rows = 30, .columns = 1, .depth = 7}));
  EXPECT_THAT(works(graph, "f"),
              ElementsAre(Work{
                  .work_class = kProduct, .type = kFp8, .rows = 4, .columns = 13, .depth = 7}));
  EXPECT_THAT(works(graph, "i"),
              ElementsAre(Work{.work_class = kReduction, .rows = 1, .columns = 7}));
  EXPECT_EQ(graph.flops(node(graph, "s")), 2.0 * 6 * 5 * 11 * 7);
}

// 3 x 3 windows on 16 x 16 places of 2 images: without padding and in 4 groups of 2 to 8 channels.
TEST(HloWorks, AConvolutionIsTheProductThatHasItsFlops) {
  const graph::Graph graph = graph_of_hlo(R"(HloModule m
ENTRY e {
  x = f16[2,18,18,8] parameter(0)
  k = f16[3,3,8,32] parameter(1)
  g = f16[3,3,2,32] parameter(2)
  a = f16[5,6,7] parameter(3)
  b = f16[5,7,8] parameter(4)
  c = f16[2,16,16,32] convolution(x, k), window={size=3x3}, dim_labels=b01f_01io->b01f
  d = f16[2,16,16,32] convolution(x, g), window={size=3x3}, dim_labels=b01f_01io->b01f, feature_group_count=4
  p = f16[5,6,8] convolution(a, b), window={size=5 stride=4 pad=0_0 lhs_dilate=5}, dim_labels=0bf_0io->0bf
  ROOT t = (f16[2,16,16,32], f16[2,16,16,32], f16[5,6,8]) tuple(c, d, p)
})");
  EXPECT_THAT(works(graph, "c"), ElementsAre(Work{.work_class = kConvolution,
                                                  .type = kF16,
                                                  .rows = 2 * 16 * 16,
                                                  .columns = 32,
                                                  .depth = 3 * 3 * 8}));
  EXPECT_THAT(works(graph, "d"), ElementsAre(Work{.work_class = kConvolution,
                                                  .type = kF16,
                                                  .batch = 4,
                                                  .rows = 2 * 16 * 16,
                                                  .columns = 8,
                                                  .depth = 3 * 3 * 2}));
  // How compilers for TPUs write 5 products of [6, 7] by [7, 8].
  EXPECT_THAT(
      works(graph, "p"),
      ElementsAre(Work{
          .work_class = kProduct, .type = kF16, .batch = 5, .rows = 6, .columns = 8, .depth = 7}));
  EXPECT_EQ(graph.flops(node(graph, "p")), 2.0 * 5 * 6 * 7 * 8);
}

TEST(HloWorks, CallsOfLibrariesAreProductsToo) {
  const graph::Graph graph = graph_of_hlo(R"(HloModule m
ENTRY e {
  a = f8e4m3fn[3,5,7] parameter(0)
  b = f8e4m3fn[3,11,7] parameter(1)
  x = f32[2,8,16,16] parameter(2)
  dy = f32[2,32,16,16] parameter(3)
  w = f32[32,8,3,3] parameter(4)
  q = bf16[2,128,8,64] parameter(5)
  m = (bf16[3,5,11], s8[4096]) custom-call(a, b), custom_call_target="__cublas$lt$matmul$f8", backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["2"],"rhs_contracting_dimensions":["2"],"lhs_batch_dimensions":["0"],"rhs_batch_dimensions":["0"]}}}
  f = (f32[2,32,16,16], u8[0]) custom-call(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, custom_call_target="__cudnn$convForward"
  dw = (f32[32,8,3,3], u8[0]) custom-call(x, dy), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, custom_call_target="__cudnn$convBackwardFilter"
  dx = (f32[2,8,16,16], u8[0]) custom-call(dy, w), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, custom_call_target="__cudnn$convBackwardInput"
  o = bf16[2,128,8,64] custom-call(q, q, q), custom_call_target="__cudnn$fmhaSoftmax"
  n = f32[2,8,16,16] custom-call(x), custom_call_target="te_layernorm_forward_ffi"
  ROOT t = ((bf16[3,5,11], s8[4096]), (f32[2,32,16,16], u8[0]), (f32[32,8,3,3], u8[0]), (f32[2,8,16,16], u8[0]), bf16[2,128,8,64], f32[2,8,16,16]) tuple(m, f, dw, dx, o, n)
})");
  EXPECT_THAT(
      works(graph, "m"),
      ElementsAre(Work{
          .work_class = kProduct, .type = kFp8, .batch = 3, .rows = 5, .columns = 11, .depth = 7}));
  const auto expect_flops = [&](const char* name, double depth_of_result) {
    const Work work = works(graph, name).at(0);
    EXPECT_EQ(work.work_class, kConvolution) << name;
    EXPECT_EQ(work.type, kF32) << name;
    EXPECT_DOUBLE_EQ(work.depth, depth_of_result) << name;
    EXPECT_DOUBLE_EQ(2 * work.batch * work.rows * work.columns * work.depth,
                     graph.flops(node(graph, name)).value())
        << name;
  };
  // Taps on padding are not counted forward: of 3 x 16 along a side 2 fall outside.
  expect_flops("f", 8 * (46.0 / 16) * (46.0 / 16));
  expect_flops("dw", 2 * 16 * 16);
  expect_flops("dx", 32 * 3 * 3);
  EXPECT_THAT(works(graph, "o"), ElementsAre(Work{.work_class = kAttention, .type = kBf16}));
  EXPECT_THAT(works(graph, "n"), ElementsAre(Work{.work_class = kNorm}));
}

// The dot has 2 x 4 x 6 x 5 = 240 flops, the exponentials and the sum of 24 elements 48.
TEST(HloWorks, AFusionThatHoldsADotIsAProductWithAllItsFlopsAndBytes) {
  const graph::Graph graph = graph_of_hlo(R"(HloModule m
inner { p = f32[4,6] parameter(0) ROOT n = f32[4,6] exponential(p) }
fused {
  a = bf16[4,5] parameter(0)
  b = bf16[5,6] parameter(1)
  c = f32[4,6] parameter(2)
  d = f32[4,6] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  x = f32[4,6] fusion(d), kind=kLoop, calls=inner
  ROOT s = f32[4,6] add(x, c)
}
twice {
  a = bf16[4,5] parameter(0)
  b = bf16[5,6] parameter(1)
  d = f32[4,6] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[4,6] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT s = f32[4,6] add(d, e)
}
ENTRY e {
  a = bf16[4,5] parameter(0)
  b = bf16[5,6] parameter(1)
  c = f32[4,6] parameter(2)
  f = f32[4,6] fusion(a, b, c), kind=kOutput, calls=fused
  g = f32[4,6] fusion(a, b), kind=kOutput, calls=twice
  ROOT t = (f32[4,6], f32[4,6]) tuple(f, g)
})");
  Work product{.work_class = kProduct, .type = kBf16, .rows = 4, .columns = 6, .depth = 5};
  EXPECT_EQ(graph.op_kind(node(graph, "f")), "product-fusion");
  EXPECT_EQ(graph.flops(node(graph, "f")), 240 + 48);
  EXPECT_THAT(works(graph, "f"), ElementsAre(product));
  // Two equal products share what the fusion does, each the half of it.
  product.count = 2;
  EXPECT_THAT(works(graph, "g"), ElementsAre(product));
}

TEST(HloWorks, OtherFusionsAreWhatMostOfTheirDataGoesThrough) {
  const graph::Graph graph = graph_of_hlo(R"(HloModule m
plus { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
sums {
  x = f32[64,128] parameter(0)
  zero = f32[] constant(0)
  y = f32[64,128] exponential(x)
  ROOT s = f32[64] reduce(y, zero), dimensions={1}, to_apply=plus
}
acts {
  x = f32[64,128] parameter(0)
  i = s32[2,1] parameter(1)
  r = f32[2,128] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,128}
  m = f32[64,128] multiply(x, x)
  ROOT y = f32[64,128] tanh(m)
}
adds { x = f32[64,128] parameter(0) y = f32[64,128] add(x, x) ROOT z = f32[128,64] transpose(y), dimensions={1,0} }
moves { x = f32[64,128] parameter(0) ROOT z = f32[128,64] transpose(x), dimensions={1,0} }
ENTRY e {
  x = f32[64,128] parameter(0)
  i = s32[2,1] parameter(1)
  sum = f32[64] fusion(x), kind=kInput, calls=sums
  act = f32[64,128] fusion(x, i), kind=kLoop, calls=acts
  add = f32[128,64] fusion(x), kind=kLoop, calls=adds
  move = f32[128,64] fusion(x), kind=kLoop, calls=moves
  ROOT t = (f32[64], f32[64,128], f32[128,64], f32[128,64]) tuple(sum, act, add, move)
})");
  EXPECT_THAT(works(graph, "sum"),
              ElementsAre(Work{.work_class = kReduction, .rows = 64, .columns = 128}));
  EXPECT_THAT(works(graph, "act"), ElementsAre(Work{.work_class = kActivation}));
  EXPECT_THAT(works(graph, "add"), IsEmpty());  // elementwise, as its name says nothing
  EXPECT_THAT(works(graph, "move"), ElementsAre(Work{.work_class = kCopy}));
}

// 3 rounds of a product of [4, 4] by [4, 4], an addition to it, and another to the counter, which
// is compared 3 times.
TEST(HloWorks, ALoopRunsTheKernelsOfItsBodyInEachRound) {
  constexpr const char* kModule = R"(HloModule m
body {
  s = (s32[], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4,4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[4,4] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[4,4] add(y, x)
  ROOT t = (s32[], f32[4,4]) tuple(j, z)
}
cond {
  s = (s32[], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT
}
small { x = f32[4,4] parameter(0) ROOT y = f32[4,4] negate(x) }
large { x = f32[4,4] parameter(0) ROOT y = f32[4,4] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0} }
ENTRY e {
  s = (s32[], f32[4,4]) parameter(0)
  p = pred[] parameter(1)
  x = f32[4,4] get-tuple-element(s), index=1
  w = (s32[], f32[4,4]) while(s), condition=cond, body=body
  c = f32[4,4] conditional(p, x, x), true_computation=small, false_computation=large
  ROOT t = ((s32[], f32[4,4]), f32[4,4]) tuple(w, c)
})";
  const graph::Graph graph = graph_of_hlo(kModule);
  const Work compare{.work_class = kElementwise,
                     .type = kI32,
                     .count = 3,
                     .flops = 1,
                     .bytes_read = 4,
                     .bytes_written = 1};
  Work count = compare, add = compare, dot = compare;
  count.bytes_written = 4;
  add.type = kF32;
  add.flops = 16;
  add.bytes_read = 2 * 64;
  add.bytes_written = 64;
  dot = {.work_class = kProduct,
         .type = kF32,
         .count = 3,
         .flops = 2 * 64,
         .bytes_read = 64,  // one operand, twice
         .bytes_written = 64,
         .rows = 4,
         .columns = 4,
         .depth = 4};
  EXPECT_THAT(works(graph, "w"), testing::UnorderedElementsAre(compare, count, add, dot));
  EXPECT_EQ(graph.flops(node(graph, "w")), 3.0 * (1 + 1 + 16 + 128));
  // The dearer branch alone, whose flops and bytes are the node's.
  EXPECT_THAT(
      works(graph, "c"),
      ElementsAre(Work{.work_class = kProduct, .type = kF32, .rows = 4, .columns = 4, .depth = 4}));
}

}  // namespace
}  // namespace doppler::formats
