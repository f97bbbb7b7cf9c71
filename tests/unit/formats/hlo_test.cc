#include "doppler/formats/hlo/hlo.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/graph/graph.h"
#include "support/errors.h"
#include "support/read_graph.h"

namespace doppler::formats {
namespace {

using test::error_of;
using test::names;
using test::node;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Imported imported_hlo(std::string_view text) {
  return read_hlo("m.hlo", text, {});
}
std::string hlo_error(std::string_view text) {
  return error_of([&] { imported_hlo(text); });
}

TEST(Hlo, DotAndPlumbing) {
  const graph::Graph graph =
      imported_hlo(R"(HloModule small, entry_computation_layout={(f32[8,16]{1,0})->f32[8,4]{1,0}}

ENTRY %main (x: f32[8,16], w: bf16[16,4]) -> (f32[8,4], f32[4,8]) {
  %x = f32[8,16]{1,0} parameter(0), metadata={op_name="jit(f)/a, (b" source_file="x.py"}
  %w = bf16[16,4]{1,0:T(8,128)(2,1)} parameter(1), sharding={devices=[1,2]<=[2]}
  %convert.1 = f32[16,4]{1,0} convert(bf16[16,4]{1,0} %w)
  %dot.2 = f32[8,4]{1,0} dot(f32[8,16]{1,0} %x, f32[16,4]{1,0} %convert.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %constant.3 = f32[] constant(2)
  %broadcast.4 = f32[8,4]{1,0} broadcast(f32[] %constant.3), dimensions={}
  %multiply.5 = f32[8,4]{1,0} multiply(%dot.2, /*index=1*/%broadcast.4)
  %bitcast.6 = f32[4,8]{0,1} bitcast(%multiply.5)
  ROOT %tuple.7 = (f32[8,4]{1,0}, f32[4,8]{0,1}) tuple(%multiply.5, %bitcast.6)
}
)")
          .graph;
  EXPECT_EQ(graph.name(), "small");
  EXPECT_THAT(names(graph), ElementsAre("convert.1", "dot.2", "multiply.5"));
  const NodeId dot = node(graph, "dot.2"), multiply = node(graph, "multiply.5");
  EXPECT_EQ(graph.flops(dot), 2.0 * 8 * 4 * 16);
  EXPECT_EQ(graph.bytes_read(dot), (8 * 16 + 16 * 4) * 4);
  EXPECT_EQ(graph.bytes_written(dot), 8 * 4 * 4);
  EXPECT_EQ(graph.bytes_read(node(graph, "convert.1")), 16 * 4 * 2);
  EXPECT_EQ(graph.bytes_read(multiply), 8 * 4 * 4);  // the constant is no traffic
  EXPECT_TRUE(graph.is_output(graph.outputs(multiply)[0]));
  EXPECT_EQ(graph.role(graph.inputs(dot)[0]), graph::TensorRole::kParameter);
}

TEST(Hlo, ShortForm) {
  const graph::Graph graph = imported_hlo(R"(
HloModule m
// a comment
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e {
  p = f32[10,20] parameter(0)
  zero = f32[] constant(0)
  ROOT r = f32[10] reduce(p, zero),
      dimensions={1},
      to_apply=add
})")
                                 .graph;
  EXPECT_THAT(names(graph), ElementsAre("r"));
  EXPECT_EQ(graph.flops(NodeId(0)), 200.0);
}

TEST(Hlo, ConvolutionByWindowAndLabels) {
  const graph::Graph graph = imported_hlo(R"(HloModule m
ENTRY e {
  x = f32[2,32,32,3] parameter(0)
  k = f32[3,3,3,8] parameter(1)
  c = f32[2,16,16,8] convolution(x, k), window={size=3x3 stride=2x2 pad=0_1x0_1}, dim_labels=b01f_01io->b01f
  g = f32[2,32,32,3] parameter(2)
  ROOT back = f32[2,32,32,8] convolution(c, k), window={size=3x3 pad=2_1x2_1 lhs_dilate=2x2 rhs_reversal=1x1}, dim_labels=b01f_01io->b01f
})")
                                 .graph;
  // Of 16 x 3 taps along a dimension one is on the padding behind the input.
  EXPECT_EQ(graph.flops(node(graph, "c")), 2.0 * (2 * 8) * (47 * 47) * 3);
  // Every other position of the spread input is a zero: the taps meet 15, 16 and 16 elements.
  EXPECT_EQ(graph.flops(node(graph, "back")), 2.0 * (2 * 8) * (47 * 47) * 3);
}

// A product as compilers for TPUs write it: the window hangs over the input but for one tap.
TEST(Hlo, AConvolutionThatIsAProduct) {
  const graph::Graph graph = imported_hlo(R"(HloModule m
ENTRY e {
  x = f32[16,2,1] parameter(0)
  k = f32[16,16,512] parameter(1)
  c = f32[2,16,512] convolution(x, k), window={size=16 pad=15_15 rhs_reversal=1}, dim_labels=fb0_i0o->b0f
  l = f32[16,4096,512] parameter(2)
  d = f32[2,4096,512] convolution(x, l), window={size=4096 pad=4095_4095 rhs_reversal=1}, dim_labels=fb0_i0o->b0f
  ROOT t = (f32[2,16,512], f32[2,4096,512]) tuple(c, d)
})")
                                 .graph;
  EXPECT_EQ(graph.flops(node(graph, "c")), 2.0 * 2 * 16 * 16 * 512);
  EXPECT_EQ(graph.flops(node(graph, "d")), 2.0 * 2 * 16 * 4096 * 512);
}

TEST(Hlo, VendorLibraries) {
  const graph::Graph graph = imported_hlo(R"(HloModule m
ENTRY e {
  a = f32[101,407] parameter(0)
  b = f32[407,400] parameter(1)
  gemm = (f32[101,400]{1,0}, s8[33554432]{0}) custom-call(a, b), custom_call_target="__cublas$lt$matmul"
  product = f32[101,400] get-tuple-element(gemm), index=0
  x = f32[128,192,100,100] parameter(2)
  dy = f32[128,64,100,100] parameter(3)
  w = f32[64,192,3,3] parameter(4)
  dw = (f32[64,192,3,3], u8[0]) custom-call(x, dy), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, custom_call_target="__cudnn$convBackwardFilter"
  dx = (f32[128,192,100,100], u8[0]) custom-call(dy, w), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, custom_call_target="__cudnn$convBackwardInput"
  dw0 = f32[64,192,3,3] get-tuple-element(dw), index=0
  dx0 = f32[128,192,100,100] get-tuple-element(dx), index=0
  ROOT t = (f32[101,400], f32[64,192,3,3], f32[128,192,100,100]) tuple(product, dw0, dx0)
})")
                                 .graph;
  // Not by the workspace, which is larger than the result.
  EXPECT_NEAR(*graph.flops(node(graph, "gemm")), 2.0 * 101 * 400 * 407, 1.0);
  EXPECT_EQ(graph.bytes_written(node(graph, "gemm")), 4.0 * 101 * 400);
  EXPECT_EQ(graph.flops(node(graph, "dw")), 2.0 * (128 * 64 * 100 * 100) * 9 * 192);
  EXPECT_EQ(graph.flops(node(graph, "dx")), 2.0 * (128 * 64 * 100 * 100) * 9 * 192);
}

TEST(Hlo, DimensionsThatOperandsDoNotHave) {
  const auto product = [](const char* dims) {
    return fmt::format(
        "HloModule m\nENTRY e {{ x = f32[4,4] parameter(0)\n ROOT d = f32[4,4] dot(x, x), "
        "lhs_contracting_dims={{{}}}, rhs_contracting_dims={{0}} }}",
        dims);
  };
  EXPECT_EQ(imported_hlo(product("1")).graph.node_count(), 1u);
  EXPECT_THAT(hlo_error(product("2")), HasSubstr("no dimension 2"));
  const auto convolution = [](const char* labels) {
    return fmt::format(
        "HloModule m\nENTRY e {{ x = f32[1,8,8,3] parameter(0)\n k = f32[3,3,3,8] "
        "parameter(1)\n ROOT c = f32[1,6,6,8] convolution(x, k), window={{size=3x3}}, "
        "dim_labels={} }}",
        labels);
  };
  EXPECT_EQ(imported_hlo(convolution("b01f_01io->b01f")).graph.node_count(), 1u);
  for (const char* labels : {"xxxx", "b01f_01io", "b01f->b01f", "b0f_0io->b0f"}) {
    EXPECT_THAT(hlo_error(convolution(labels)), HasSubstr("do not fit the shapes")) << labels;
  }
}

// As newer versions of JAX write them before the computations.
TEST(Hlo, TablesOfTheSourceAreSkipped) {
  const graph::Graph graph = imported_hlo(R"(HloModule jit_f, is_scheduled=true

FileNames
1 "/home/me/{model}.py"
FunctionNames
1 "<module>"
2 "f"
FileLocations
1 {file_name_id=1 function_name_id=1 line=8 end_line=8 column=0 end_column=10}
StackFrames
1 {file_location_id=1 parent_frame_id=1}

ENTRY %main {
  %x = f32[8] parameter(0)
  ROOT %y = f32[8] negate(%x), metadata={op_name="neg" stack_frame_id=1}
})")
                                 .graph;
  EXPECT_EQ(graph.node_count(), 1u);
}

TEST(Hlo, FusionIsCostedByItsBody) {
  const graph::Graph graph = imported_hlo(R"(HloModule m
%fused (p.0: f32[1000,8], p.1: s32[], p.2: f32[1,8]) -> f32[1,8] {
  %p.0 = f32[1000,8] parameter(0)
  %p.1 = s32[] parameter(1)
  %zero = s32[] constant(0)
  %row = f32[1,8] dynamic-slice(%p.0, %p.1, %zero), dynamic_slice_sizes={1,8}
  %p.2 = f32[1,8] parameter(2)
  %m = f32[1,8] multiply(%row, %p.2)
  ROOT %a = f32[1,8] add(%m, %p.2)
}
ENTRY %e {
  %table = f32[1000,8] parameter(0)
  %i = s32[] parameter(1)
  %x = f32[1,8] parameter(2)
  ROOT %fusion = f32[1,8] fusion(%table, %i, %x), kind=kLoop, calls=%fused, backend_config={"fusion_backend_config":{"kind":"__triton"}}
})")
                                 .graph;
  ASSERT_EQ(graph.node_count(), 1u);
  EXPECT_EQ(graph.op_kind(NodeId(0)), "fusion");
  EXPECT_EQ(graph.flops(NodeId(0)), 16.0);
  // One row of the table, the index, x; not the table.
  EXPECT_EQ(graph.bytes_read(NodeId(0)), 32.0 + 4.0 + 32.0);
  EXPECT_EQ(graph.bytes_written(NodeId(0)), 32.0);
}

// One layer of a stack of weights, looked up by a fusion inside a fusion, and one row of a cache
// written in place.
TEST(Hlo, AFusionReadsAndWritesPartsOfStacks) {
  const graph::Graph graph = imported_hlo(R"(HloModule m
layer {
  stack = f32[32,8,8] parameter(0)
  i = s32[] parameter(1)
  zero = s32[] constant(0)
  flat = f32[32,8,8] bitcast(stack)
  one = f32[1,8,8] dynamic-slice(flat, i, zero, zero), dynamic_slice_sizes={1,8,8}
  ROOT w = f32[8,8] bitcast(one)
}
fused {
  stack = f32[32,8,8] parameter(0)
  i = s32[] parameter(1)
  cache = f32[100,8] parameter(2)
  x = f32[1,8] parameter(3)
  w = f32[8,8] fusion(stack, i), kind=kLoop, calls=layer
  y = f32[1,8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  zero = s32[] constant(0)
  new = f32[100,8] dynamic-update-slice(cache, y, i, zero)
  ROOT out = f32[100,8] bitcast(new)
}
ENTRY e {
  stack = f32[32,8,8] parameter(0)
  i = s32[] parameter(1)
  cache = f32[100,8] parameter(2)
  x = f32[1,8] parameter(3)
  ROOT f = f32[100,8] fusion(stack, i, cache, x), kind=kLoop, calls=fused
})")
                                 .graph;
  ASSERT_EQ(graph.node_count(), 1u);
  EXPECT_EQ(graph.flops(NodeId(0)), 2.0 * 8 * 8);
  EXPECT_EQ(graph.bytes_read(NodeId(0)), 4.0 * 8 * 8 + 4.0 + 4.0 * 8);
  EXPECT_EQ(graph.bytes_written(NodeId(0)), 4.0 * 8);
}

TEST(Hlo, LoopIsOneNodeAndHandsOnItsWeights) {
  const Imported imported = imported_hlo(R"(HloModule m
body {
  s = (s32[], f32[4,4], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  w = f32[4,4] get-tuple-element(s), index=1
  x = f32[4,4] get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[4,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (s32[], f32[4,4], f32[4,4]) tuple(next, w, y)
}
condition {
  s = (s32[], f32[4,4], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(10)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  w = f32[4,4] parameter(0)
  x = f32[4,4] parameter(1)
  zero = s32[] constant(0)
  t = (s32[], f32[4,4], f32[4,4]) tuple(zero, w, x)
  loop = (s32[], f32[4,4], f32[4,4]) while(t), condition=condition, body=body
  y = f32[4,4] get-tuple-element(loop), index=2
  same = f32[4,4] get-tuple-element(loop), index=1
  ROOT sum = f32[4,4] add(y, same)
})");
  const graph::Graph& graph = imported.graph;
  EXPECT_THAT(names(graph), ElementsAre("loop", "sum"));
  // Ten rounds of a product, the counter and the comparison.
  EXPECT_EQ(graph.flops(node(graph, "loop")), 10.0 * (2 * 4 * 4 * 4 + 1 + 1));
  // The weights come from the parameter, not out of the loop.
  const TensorId second = graph.inputs(node(graph, "sum"))[1];
  EXPECT_EQ(graph.tensor_name(second), "w");
}

TEST(Hlo, UnknownRoundsAreNoted) {
  constexpr std::string_view kText = R"(HloModule m
body {{ s = (f32[8]) parameter(0)
  a = f32[8] get-tuple-element(s), index=0
  b = f32[8] negate(a)
  ROOT t = (f32[8]) tuple(b) }}
cond {{ s = (f32[8]) parameter(0)
  ROOT p = pred[] custom-call(s), custom_call_target="ask" }}
ENTRY e {{ x = f32[8] parameter(0)
  t = (f32[8]) tuple(x)
  l = (f32[8]) while(t), condition=cond, body=body{}
  ROOT r = f32[8] get-tuple-element(l), index=0 }})";
  const Imported open = imported_hlo(fmt::format(kText, ""));
  EXPECT_THAT(open.notes, Contains(HasSubstr("1 loops whose number of rounds")));
  EXPECT_THAT(open.notes, Contains(HasSubstr("custom-call \"ask\" (1 times) has no rule")));
  const Imported noted =
      imported_hlo(fmt::format(kText, R"(, backend_config={"known_trip_count":{"n":"5"}})"));
  EXPECT_EQ(noted.graph.flops(NodeId(0)), 5.0 * (8 + 1));
}

TEST(Hlo, CallsAreInlinedAndUpdatesFound) {
  const graph::Graph graph =
      imported_hlo(
          R"(HloModule step, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }
f { a = f32[64] parameter(0)
  ROOT n = f32[64] negate(a) }
ENTRY e {
  w = f32[64] parameter(0)
  x = f32[64] parameter(1)
  one = f32[64] call(x), to_apply=f
  two = f32[64] call(one), to_apply=f
  new = f32[64] subtract(w, two)
  ROOT t = (f32[64], f32[64]) tuple(new, x)
})")
          .graph;
  EXPECT_THAT(names(graph), ElementsAre("one/n", "two/n", "new"));
  const TensorId updated = graph.updates(graph.outputs(node(graph, "new"))[0]);
  ASSERT_TRUE(updated.valid());
  EXPECT_EQ(graph.tensor_name(updated), "w");
}

TEST(Hlo, CollectivesAsyncPairsAndDeadCode) {
  const Imported imported = imported_hlo(R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e {
  x = f32[256] parameter(0)
  start = f32[256] all-reduce-start(x), channel_id=1, replica_groups=[2,4]<=[8], to_apply=add
  unused = f32[256] negate(x)
  ROOT done = f32[256] all-reduce-done(start)
})");
  EXPECT_THAT(names(imported.graph), ElementsAre("start"));
  EXPECT_TRUE(imported.graph.is_output(imported.graph.outputs(NodeId(0))[0]));
  EXPECT_THAT(imported.notes, Contains(HasSubstr("1 all-reduce-start")));
  EXPECT_THAT(imported.notes, Contains(HasSubstr("1 instructions that no result needs")));
}

// As XLA writes them for GPUs and TPUs: the start's tuple has the operands, too.
TEST(Hlo, AsyncPairsHandOnTheirResult) {
  const Imported imported = imported_hlo(R"(HloModule m
wrapped { p = f32[8,256] parameter(0) ROOT s = f32[2,256] slice(p), slice={[0:2], [0:256]} }
ENTRY e {
  x = f32[64,256] parameter(0)
  g0 = (f32[64,256], f32[512,256]) all-gather-start(x), dimensions={0}
  g = f32[512,256] all-gather-done(g0)
  n = f32[512,256] negate(g)
  p0 = (f32[512,256], f32[512,256], u32[], u32[]) collective-permute-start(n), source_target_pairs={{0,1}}
  p = f32[512,256] collective-permute-done(p0)
  r0 = ((f32[512,256]), f32[8,256]) reduce-scatter-start(p), dimensions={0}, to_apply=wrapped
  r = f32[8,256] reduce-scatter-done(r0)
  a0 = ((f32[8,256]), f32[2,256], u32[]) async-start(r), calls=wrapped
  a1 = ((f32[8,256]), f32[2,256], u32[]) async-update(a0)
  a = f32[2,256] async-done(a1)
  c0 = (f32[2,256], f32[2,256], u32[]) copy-start(a)
  ROOT c = f32[2,256] copy-done(c0)
})");
  const graph::Graph& graph = imported.graph;
  EXPECT_THAT(names(graph), ElementsAre("g0", "n", "p0", "r0", "a0", "c0"));
  const auto result_bytes = [&](std::string_view name) {
    double bytes = 0.0;
    for (const TensorId tensor : graph.outputs(node(graph, name))) bytes += *graph.bytes(tensor);
    return bytes;
  };
  EXPECT_EQ(result_bytes("g0"), 4.0 * 512 * 256);
  EXPECT_EQ(result_bytes("p0"), 4.0 * 512 * 256);
  EXPECT_EQ(result_bytes("r0"), 4.0 * 8 * 256);
  EXPECT_EQ(result_bytes("a0"), 4.0 * 2 * 256);
  EXPECT_EQ(result_bytes("c0"), 4.0 * 2 * 256);
  for (const char* name : {"n", "p0", "r0", "a0", "c0"}) {
    EXPECT_EQ(graph.inputs(node(graph, name)).size(), 1u) << name;
  }
  EXPECT_THAT(imported.notes, Not(Contains(HasSubstr("has no rule"))));
  EXPECT_THAT(imported.notes, Contains(HasSubstr("1 reduce-scatter-start")));
}

// Their halves are one node as well, which stays though nobody reads it.
TEST(Hlo, SendAndRecv) {
  const Imported imported = imported_hlo(R"(HloModule m
ENTRY e {
  x = f32[256] parameter(0)
  token = token[] after-all()
  s = (f32[256], u32[], token[]) send(x, token), channel_id=1
  sent = token[] send-done(s), channel_id=1
  r = (f32[256], u32[], token[]) recv(token), channel_id=2, control-predecessors={sent}
  received = (f32[256], token[]) recv-done(r), channel_id=2
  data = f32[256] get-tuple-element(received), index=0
  ROOT y = f32[256] negate(data)
})");
  const graph::Graph& graph = imported.graph;
  EXPECT_THAT(names(graph), ElementsAre("s", "r", "y"));
  EXPECT_EQ(graph.producer(graph.inputs(node(graph, "y"))[0]), node(graph, "r"));
  EXPECT_EQ(graph.bytes_written(node(graph, "r")), 4.0 * 256);
}

TEST(Hlo, CollectivesInAsynchronousComputations) {
  const Imported imported = imported_hlo(R"(HloModule m
wrapped { p = f32[8,256] parameter(0) ROOT a = f32[8,256] all-to-all(p), dimensions={0} }
ENTRY e {
  x = f32[8,256] parameter(0)
  a0 = ((f32[8,256]), f32[8,256], u32[]) async-start(x), calls=wrapped
  ROOT a = f32[8,256] async-done(a0)
})");
  EXPECT_EQ(imported.graph.op_kind(NodeId(0)), "all-to-all-start");
  EXPECT_THAT(imported.notes, Contains(HasSubstr("1 all-to-all-start")));
}

TEST(Hlo, CollectivesInFusions) {
  const Imported imported = imported_hlo(R"(HloModule m
add { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT c = bf16[] add(a, b) }
all-reduce-scatter.3 {
  p = bf16[32,8192] parameter(0)
  r = bf16[32,8192] all-reduce(p), replica_groups={{0,1}}, to_apply=add
  ROOT s = bf16[32,4096] slice(r), slice={[0:32], [0:4096]}
}
ENTRY e {
  x = bf16[32,8192]{1,0:T(8,128)(2,1)S(1)} parameter(0)
  ROOT f = bf16[32,4096]{1,0:T(8,128)(2,1)} fusion(x), kind=kCustom, calls=%all-reduce-scatter.3
})");
  EXPECT_THAT(imported.notes, Contains(HasSubstr("1 fused all-reduce: taken as local work")));
}

TEST(Hlo, AsWindowsWritesText) {
  const graph::Graph graph =
      imported_hlo(
          "\xef\xbb\xbfHloModule m, is_scheduled=true\r\n\r\nENTRY %e {\r\n  %x = f32[8]{0} "
          "parameter(0)\r\n  ROOT %y = f32[8]{0} negate(%x), metadata={op_name=\"a/neg\"}\r\n}\r\n")
          .graph;
  EXPECT_THAT(names(graph), ElementsAre("y"));
  EXPECT_EQ(graph.scope(NodeId(0)), "a");
}

TEST(Hlo, Buffers) {
  const graph::Graph graph = imported_hlo(R"(HloModule m
ENTRY e {
  x = f32[256] parameter(0)
  b = b(f32[256]{0}) custom-call(x), custom_call_target="Pin"
  ROOT y = f32[256] custom-call(b), custom_call_target="Unpin"
})")
                                 .graph;
  EXPECT_EQ(graph.bytes_read(node(graph, "y")), 4.0 * 256);
}

TEST(Hlo, ConstantsAreFolded) {
  const graph::Graph graph = imported_hlo(R"(HloModule m
ENTRY e {
  x = f32[4,4] parameter(0)
  c = f32[4,4] constant({ { 1, 2, 3, 4 }, { 1, 2, 3, 4 },
    { 1, 2, 3, 4 }, { 1, 2, 3, 4 } })
  t = f32[4,4] transpose(c), dimensions={1,0}
  i = f32[4,4] iota(), iota_dimension=0
  j = f32[4,4] add(i, i)
  a = f32[4,4] add(x, t)
  ROOT b = f32[4,4] add(a, j)
})")
                                 .graph;
  EXPECT_THAT(names(graph), ElementsAre("a", "b"));
  EXPECT_EQ(graph.inputs(node(graph, "a")).size(), 2u);
  EXPECT_EQ(graph.inputs(node(graph, "b")).size(), 1u);
}

TEST(Hlo, EveryElementType) {
  for (const auto& [type, bytes] : std::vector<std::pair<std::string, double>>{{"pred", 16},
                                                                               {"s4", 8},
                                                                               {"u8", 16},
                                                                               {"f8e4m3fn", 16},
                                                                               {"bf16", 32},
                                                                               {"f16", 32},
                                                                               {"s64", 128},
                                                                               {"c128", 256},
                                                                               {"f4e2m1fn", 8},
                                                                               {"u2", 4}}) {
    const graph::Graph graph =
        imported_hlo(
            fmt::format(
                "HloModule m\nENTRY e {{ x = {0}[16] parameter(0)\n ROOT y = {0}[16] copy(x) }}",
                type))
            .graph;
    EXPECT_EQ(graph.bytes(graph.outputs(NodeId(0))[0]), bytes) << type;
  }
}

TEST(Hlo, DamagedModules) {
  EXPECT_THAT(hlo_error(""), HasSubstr("m.hlo:1:1: an HLO module starts with 'HloModule'"));
  EXPECT_THAT(hlo_error("HloModule m\n"), HasSubstr("m.hlo:2:1: the module has no computation"));
  EXPECT_THAT(hlo_error("HloModule m\nENTRY e { x = f32[2] parameter(0)"),
              HasSubstr("the file ends where '}' should be"));
  EXPECT_THAT(hlo_error("HloModule m\nENTRY e { x = f33[2] parameter(0) }"),
              HasSubstr("m.hlo:2:15: unknown element type 'f33'"));
  EXPECT_THAT(hlo_error("HloModule m\nENTRY e { x = f32[2] negate(y) }"),
              HasSubstr("m.hlo:2:29: there is no instruction 'y' before this one"));
  EXPECT_THAT(hlo_error("HloModule m\nENTRY e { x = f32[2] call(), to_apply=gone }"),
              HasSubstr("m.hlo:2:11: there is no computation 'gone'"));
  EXPECT_THAT(hlo_error("HloModule m\nf { x = f32[2] call(), to_apply=f }\nENTRY e { x = f32[2] "
                        "parameter(0) }"),
              HasSubstr("calls itself"));
  EXPECT_THAT(hlo_error("HloModule m\nENTRY e { x = f32[2] constant({1, 2) }"),
              HasSubstr("closes nothing"));
  EXPECT_THAT(hlo_error("HloModule m\nENTRY e { x = f32[99999999999,99999999999] parameter(0) }"),
              HasSubstr("too many elements"));
  EXPECT_THAT(hlo_error("HloModule m\nENTRY e { x = f32[2,2] parameter(0)\n y = f32[2,2] dot(x) }"),
              HasSubstr("m.hlo:3:2: a dot needs 2 operands"));
  EXPECT_THAT(hlo_error("HloModule m\nENTRY e { x = f32[2] parameter(0)\n y = f32[2] fusion(x) }"),
              HasSubstr("m.hlo:3:2: a fusion needs 'calls'"));
  EXPECT_THAT(hlo_error("HloModule m\nf { x = f32[2] parameter(0) }\nENTRY e { x = f32[2] "
                        "parameter(0)\n y = f32[2] while(x), condition=f }"),
              HasSubstr("a while needs 'body'"));
  EXPECT_THAT(hlo_error("HloModule m\nENTRY e { x = (f32[2], f32[2]) parameter(0)\n y = f32[2] "
                        "get-tuple-element(x), index=2 }"),
              HasSubstr("the tuple has 2 elements, counted from 0"));
  EXPECT_THAT(hlo_error("HloModule m\nENTRY e { x = f32[2] parameter(0)\n y = f32[2] "
                        "get-tuple-element(x), index=0 }"),
              HasSubstr("its operand is no tuple"));
  EXPECT_THAT(hlo_error("HloModule m\nENTRY e { x = f32[2] parameter(1) }"),
              HasSubstr("not numbered 0 to 0"));
  EXPECT_THAT(hlo_error("HloModule m\nENTRY e { x = f32[2] parameter(0)\n x = f32[2] negate(x) }"),
              HasSubstr("m.hlo:3:2: two instructions are named 'x'"));
  EXPECT_THAT(
      hlo_error("HloModule m\nENTRY e { x = f32[2] parameter(0) }\nHloModule n\nENTRY e { x = "
                "f32[2] parameter(0) }"),
      HasSubstr("m.hlo:3:1: a second module"));
  EXPECT_THAT(
      hlo_error("HloModule m\nf { x = f32[2] parameter(0) }\nf { x = f32[2] parameter(0) }\n"
                "ENTRY e { x = f32[2] parameter(0) }"),
      HasSubstr("m.hlo:3:1: two computations are named 'f'"));
  std::string buffers = "HloModule m\nENTRY e { x = ";
  for (int i = 0; i < 100; ++i) buffers += "b(";
  EXPECT_THAT(hlo_error(buffers), HasSubstr("shapes nested deeper than 32"));
  EXPECT_THAT(hlo_error("HloModule m\nENTRY e { x = " + std::string(100, '(') + " }"),
              HasSubstr("tuples nested deeper than 32"));
}

}  // namespace
}  // namespace doppler::formats
