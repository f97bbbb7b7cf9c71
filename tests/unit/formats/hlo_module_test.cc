#include "doppler/formats/hlo/hlo_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "doppler/formats/hlo/hlo.h"
#include "doppler/graph/graph.h"
#include "support/errors.h"

namespace doppler::formats {
namespace {

using test::error_of;
using testing::StartsWith;

// --- other forms of XLA programs ---

TEST(HloForms, OthersAreRecognisedAndRefused) {
  const std::string module = std::string("\x0a\x05jit_f\x12\x04main\x1a\x03", 16) + "abc";
  const std::pair<std::string, const char*> cases[] = {
      {"module @jit_f {\n func.func @main() { stablehlo.add }\n}", "m:1:1: this is StableHLO"},
      {"#loc = loc(unknown)\nmodule { mhlo.add }", "m:1:1: this is StableHLO"},
      {std::string("ML\xefR\x0dStableHLO"), "m:1:1: this is StableHLO"},
      {module, "m:1:1: this is HLO as a protocol buffer"},
      {"\x0a" + std::string(1, static_cast<char>(module.size())) + module,
       "m:1:1: this is HLO as a protocol buffer"},
  };
  for (const auto& [bytes, error] : cases) {
    EXPECT_TRUE(is_hlo(Content(bytes))) << bytes;
    EXPECT_THAT(error_of([&] { read_hlo("m", bytes, {}); }), StartsWith(error)) << bytes;
  }
}

TEST(HloForms, TextMayStartWithComments) {
  EXPECT_TRUE(is_hlo(Content("// RUN: opt %s\n\n// more\nHloModule m")));
  for (const char* other : {"module of what", "#!/bin/sh",
                            "\x0a\x03"
                            "abc",
                            "digraph { a }"}) {
    EXPECT_FALSE(is_hlo(Content(other))) << other;
  }
}

// --- scopes ---

TEST(HloScope, ComesFromTheNamesOfFrameworks) {
  const graph::Graph graph = read_hlo("m.hlo", R"hlo(HloModule m
relu {
  a = f32[8] parameter(0)
  zero = f32[] constant(0)
  b = f32[8] broadcast(zero), dimensions={}
  ROOT max = f32[8] maximum(a, b), metadata={op_name="max"}
}
fused {
  a = f32[8] parameter(0)
  ROOT n = f32[8] negate(a), metadata={op_name="jit(step)/jit(main)/transpose(jvp(net))/layer_1/neg" source_line=3}
}
ENTRY e {
  x = f32[8] parameter(0), metadata={op_name="x"}
  y = f32[8] add(x, x), metadata={op_type="add" op_name="jit(step)/jit(main)/jvp(net)/layer_0/add"}
  r = f32[8] call(y), to_apply=relu, metadata={op_name="jit(step)/jit(main)/jvp(net)/layer_1/jit(relu)"}
  f = f32[8] fusion(r), kind=kLoop, calls=fused
  ROOT c = f32[8] copy(f)
})hlo",
                                      {})
                                 .graph;
  const auto scope = [&](const char* name) { return graph.scope(graph.find_node(name).value()); };
  EXPECT_EQ(scope("y"), "net/layer_0");
  EXPECT_EQ(scope("r/max"), "net/layer_1/relu");   // its name counts from the call
  EXPECT_EQ(scope("f"), "transpose/net/layer_1");  // its root's
  EXPECT_EQ(scope("c"), "");
}

TEST(HloScope, IsTheNameWithoutProgramTransformationsAndOperation) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"jit(f)/add", ""},
      {"params[\\'w\\']", ""},
      {"jit(f)/transpose(jvp())/mul", "transpose"},
      {"jit(f)/transpose[permutation=(1, 0)]", ""},
      {"pjit(_step)/jit(main)/jvp(lm.apply)/lm/ln/reduce_sum[axes=(0, 1) x=a/b]", "lm.apply/lm/ln"},
      {"jit(f)/vmap(transpose(jvp(jit(g))))/h/dot_general", "transpose/g/h"},
      {"jit(f)/jvp(my-net/block)/dot", "my-net/block"},
      // Recomputed, or in a loop: the same place of the model.
      {"jit(f)/jit(main)/jvp(net)/while/body/closed_call/layers/mlp/dot_general", "net/layers/mlp"},
      {"jit(f)/jit(main)/transpose(jvp(net))/while/body/checkpoint/rematted_computation/layers/mlp/"
       "dot_general",
       "transpose/net/layers/mlp"},
      {"jit(f)/net/cond/branch_0_fun/cond/branch_1_fun/mlp/mul", "net/mlp"},
      {"jit(f)/cond/branch_1_fun/mul", ""},
      {"jit(f)/net/cond/mul", "net/cond"},
      {"jit(f)/attn/bqhd,bkhd->bhqk/dot_general", "attn"},
      {"jit(f)/a/add;jit(f)/b/mul", "a"},
      {"model/block_1/conv2d/Conv2D", "model/block_1/conv2d"},
      {"body/odd(name/x)/add", "body/odd(name/x)"},
      {"jit(f)/unclosed(((/[/", ""},
  };
  for (const auto& [name, scope] : cases) EXPECT_EQ(hlo_scope(name), scope) << name;
}

TEST(HloScope, NamesInCalls) {
  EXPECT_EQ(hlo_op_name_in_call("", "max"), "max");
  EXPECT_EQ(hlo_op_name_in_call("jit(f)/relu", ""), "jit(f)/relu");
  EXPECT_EQ(hlo_op_name_in_call("jit(f)/relu", "max"), "jit(f)/relu/max");
  EXPECT_EQ(hlo_op_name_in_call("jit(f)/relu", "jit(f)/relu/max"), "jit(f)/relu/max");
}

// Every instruction inside gets the name, so that a file of megabytes could fill the memory.
TEST(HloScope, NamesAreBounded) {
  std::string deep;
  for (int i = 0; i < 60'000; ++i) deep += "x/";
  EXPECT_LE(hlo_op_name_in_call(hlo_op_name_in_call(deep, "a/b"), "c/d").size(), deep.size());
  std::string brackets;
  for (int i = 0; i < 60'000; ++i) brackets += "jvp(";
  EXPECT_EQ(hlo_scope(brackets + deep).substr(0, 4), "x/x/");
}

}  // namespace
}  // namespace doppler::formats
