#include "doppler/formats/hlo/hlo_costs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/formats/hlo/hlo.h"
#include "doppler/graph/graph.h"
#include "support/read_graph.h"

namespace doppler::formats {
namespace {

using test::node;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Imported costed_hlo(std::string_view text) {
  return read_hlo("m.hlo", text, {});
}

// New rows of a cache, and the gradient of a table, which starts as zeros.
TEST(HloCosts, AScatterWritesItsUpdates) {
  const graph::Graph graph = costed_hlo(R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
fused {
  cache = f32[1000,8] parameter(0)
  rows = s32[4,1] parameter(1)
  new = f32[4,8] parameter(2)
  ROOT s = f32[1000,8] scatter(cache, rows, new), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
}
ENTRY e {
  cache = f32[1000,8] parameter(0)
  rows = s32[4,1] parameter(1)
  new = f32[4,8] parameter(2)
  zero = f32[] constant(0)
  zeros = f32[1000,8] broadcast(zero), dimensions={}
  s = f32[1000,8] scatter(cache, rows, new), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  g = f32[1000,8] scatter(zeros, rows, new), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  f = f32[1000,8] fusion(cache, rows, new), kind=kInput, calls=fused
  two = (f32[1000,8], f32[1000,8]) scatter(cache, cache, rows, new, new), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  ROOT t = (f32[1000,8], f32[1000,8], f32[1000,8], (f32[1000,8], f32[1000,8])) tuple(s, g, f, two)
})")
                                 .graph;
  constexpr double kRows = 4 * 8 * 4, kIndices = 4 * 4;
  EXPECT_EQ(graph.flops(node(graph, "s")), 4.0 * 8);
  for (const char* name : {"s", "f"}) {
    EXPECT_EQ(graph.bytes_written(node(graph, name)), kRows) << name;
    EXPECT_EQ(graph.bytes_read(node(graph, name)), 2 * kRows + kIndices) << name;
  }
  EXPECT_EQ(graph.bytes_written(node(graph, "g")), 1000 * 8 * 4);
  EXPECT_EQ(graph.bytes_written(node(graph, "two")), 2 * kRows);
}

TEST(HloCosts, SortsAndTopKGoByRows) {
  const Imported imported = costed_hlo(R"(HloModule m
less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
ENTRY e {
  x = f32[64,1024] parameter(0)
  s = f32[64,1024] sort(x), dimensions={1}, to_apply=less
  t = (f32[64,8], s32[64,8]) topk(x), k=8, largest=true
  u = (f32[64,8], s32[64,8]) custom-call(x), custom_call_target="TopK", called_computations={less}
  ROOT r = (f32[64,1024], (f32[64,8], s32[64,8]), (f32[64,8], s32[64,8])) tuple(s, t, u)
})");
  EXPECT_EQ(imported.graph.flops(node(imported.graph, "s")), 64.0 * 1024 * 10);
  EXPECT_EQ(imported.graph.flops(node(imported.graph, "t")), 64.0 * 1024 * 3);
  EXPECT_EQ(imported.graph.flops(node(imported.graph, "u")), 64.0 * 1024 * 3);
  EXPECT_THAT(imported.notes, Not(Contains(HasSubstr("no rule"))));
}

// A kernel of Pallas says itself what it does.
TEST(HloCosts, EstimatesOfKernelsCount) {
  constexpr std::string_view kText = R"(HloModule m
ENTRY e {{
  x = f32[64,64] parameter(0)
  ROOT c = f32[64,64] custom-call(x), custom_call_target="tpu_custom_call", backend_config={}
}})";
  for (
      const char* config :
      {R"({"custom_call_config": {"body": "TUw=", "cost_estimate": {"flops": 12345, "transcendentals": 7, "bytes_accessed": 9}}})",
       R"({"custom_call_config":{"cost_estimate":{"transcendentals":"7","flops":"12345"}}})",
       R"("{\"custom_call_config\": {\"cost_estimate\": {\"flops\": 12345}}}")"}) {
    const Imported imported = costed_hlo(fmt::format(kText, config));
    EXPECT_EQ(imported.graph.flops(NodeId(0)), 12345.0) << config;
    EXPECT_THAT(imported.notes, Not(Contains(HasSubstr("no rule")))) << config;
  }
  EXPECT_EQ(costed_hlo(fmt::format(kText, R"({"body": "TUw="})")).graph.flops(NodeId(0)), 4096.0);
}

TEST(HloCosts, ProductsOfSmallTypes) {
  const graph::Graph graph = costed_hlo(R"(HloModule m
ENTRY e {
  a = f4e2m1fn[128,256] parameter(0)
  b = f4e2m1fn[64,256] parameter(1)
  p = f8e8m0fnu[128,8] parameter(2)
  q = f8e8m0fnu[64,8] parameter(3)
  d = f32[128,64] scaled-dot(a, b, p, q), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  c = (f32[128,64], u8[0]) custom-call(a, b, p, q), custom_call_target="__op$block_scaled_dot"
  ROOT t = (f32[128,64], (f32[128,64], u8[0])) tuple(d, c)
})")
                                 .graph;
  for (const char* name : {"d", "c"}) {
    EXPECT_EQ(graph.flops(node(graph, name)), 2.0 * 128 * 64 * 256) << name;
    EXPECT_EQ(graph.bytes_read(node(graph, name)), (128 + 64) * 128 + (128 + 64) * 8) << name;
  }
}

TEST(HloCosts, FusedAttention) {
  const graph::Graph graph = costed_hlo(R"(HloModule m
ENTRY e {
  q = bf16[2,2048,32,128] parameter(0)
  kv = bf16[2,2048,2,8,128] parameter(1)
  none = bf16[0] parameter(2)
  qkv = bf16[2,2048,3,32,128] parameter(3)
  a = (bf16[2,2048,32,128], u8[16]) custom-call(q, kv, none), custom_call_target="te_fused_attn_forward_ffi"
  b = (bf16[2,2048,32,128], u8[16]) custom-call(qkv, none, none), custom_call_target="te_fused_attn_forward_ffi"
  ROOT t = ((bf16[2,2048,32,128], u8[16]), (bf16[2,2048,32,128], u8[16])) tuple(a, b)
})")
                                 .graph;
  // Scores and their sums: 2 * 32 heads of 2048 x 2048 x 128, twice.
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(graph.flops(node(graph, name)), 2.0 * 2 * (2 * 32) * 2048.0 * 2048 * 128) << name;
  }
}

// The sum over all arrays of one instruction.
TEST(HloCosts, AnAllReduceOfSeveralArrays) {
  const graph::Graph graph = costed_hlo(R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e {
  x = f32[100] parameter(0)
  y = f32[300] parameter(1)
  ROOT r = (f32[100], f32[300]) all-reduce(x, y), replica_groups=[2,4]<=[8]T(1,0), to_apply=add
})")
                                 .graph;
  EXPECT_EQ(graph.flops(NodeId(0)), 400.0);
}

}  // namespace
}  // namespace doppler::formats
