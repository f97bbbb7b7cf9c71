// What operators of PyTorch cost, and traces of what ran on a GPU without an operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "doppler/formats/traces/torch_ops.h"
#include "doppler/formats/traces/traces.h"
#include "doppler/graph/graph.h"

namespace doppler::formats {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// "a>b" for every pair that a tensor joins, in the order of the consumers.
std::vector<std::string> operation_edges(const graph::Graph& graph) {
  std::vector<std::string> found;
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    for (const TensorId tensor : graph.inputs(NodeId::of(v))) {
      found.push_back(std::string(graph.node_name(graph.producer(tensor))) + ">" +
                      std::string(graph.node_name(NodeId::of(v))));
    }
  }
  return found;
}

// --- costs of operators ---

// 2 sequences of 128 queries and 256 keys, 8 heads of 64: each query meets each key in two
// products of 64 multiply-adds, five in the backward pass.
constexpr double kMeetings = 2.0 * 8 * 128 * 256;

TEST(TorchOps, AttentionWithTheHeadsInFrontOfTheSequence) {
  const std::vector<double> queries{2, 8, 128, 64}, keys{2, 8, 256, 64};
  for (const char* name :
       {"aten::_scaled_dot_product_flash_attention",
        "aten::_scaled_dot_product_efficient_attention", "aten::scaled_dot_product_attention",
        "aten::_scaled_dot_product_cudnn_attention", "aten::_cudnn_attention_forward"}) {
    EXPECT_EQ(torch_flops(name, {queries, keys, keys}, 1.0), 2 * 2 * 64 * kMeetings) << name;
  }
  // The gradient of the result comes first.
  EXPECT_EQ(torch_flops("aten::_scaled_dot_product_flash_attention_backward",
                        {queries, queries, keys, keys, queries}, 1.0),
            5 * 2 * 64 * kMeetings);
}

TEST(TorchOps, AttentionWithTheHeadsBehindTheSequence) {
  const std::vector<double> queries{2, 128, 8, 64}, keys{2, 256, 8, 64};
  for (const char* name : {"aten::_flash_attention_forward", "aten::_efficient_attention_forward",
                           "flash_attn::_flash_attn_forward"}) {
    EXPECT_EQ(torch_flops(name, {queries, keys, keys}, 1.0), 2 * 2 * 64 * kMeetings) << name;
  }
  for (const char* name : {"aten::_flash_attention_backward", "aten::_efficient_attention_backward",
                           "flash_attn::_flash_attn_backward"}) {
    EXPECT_EQ(torch_flops(name, {queries, queries, keys, keys, queries}, 1.0),
              5 * 2 * 64 * kMeetings)
        << name;
  }
}

// The same two sequences one behind the other, with the three places where one starts or the last
// ends.
TEST(TorchOps, AttentionOfSequencesOneBehindTheOther) {
  const std::vector<double> queries{256, 8, 64}, keys{512, 8, 64}, places{3};
  EXPECT_EQ(torch_flops("flash_attn::_flash_attn_varlen_forward",
                        {queries, keys, keys, places, places, {}}, 1.0),
            2 * 2 * 64 * kMeetings);
  EXPECT_EQ(torch_flops("flash_attn::_flash_attn_varlen_backward",
                        {queries, queries, keys, keys, queries, {8, 256}, places, places}, 1.0),
            5 * 2 * 64 * kMeetings);
  EXPECT_EQ(
      torch_flops("aten::_cudnn_attention_forward", {queries, keys, keys, {}, places, places}, 1.0),
      2 * 2 * 64 * kMeetings);
  // Without the places all is one sequence.
  EXPECT_EQ(torch_flops("flash_attn::_flash_attn_varlen_forward", {queries, keys, keys}, 1.0),
            2 * 2 * 64 * 8.0 * 256 * 512);
}

TEST(TorchOps, AttentionWithoutShapesIsElementwise) {
  EXPECT_EQ(torch_flops("aten::_flash_attention_forward", {}, 7.0), 7.0);
  EXPECT_EQ(torch_flops("aten::_flash_attention_backward", {{2, 3, 4, 5}, {2, 3, 4, 5}}, 7.0), 7.0);
  EXPECT_EQ(torch_flops("aten::_efficient_attention_forward", {{4, 5}, {4, 5}, {4, 5}}, 7.0), 7.0);
}

TEST(TorchOps, ProductsOfSmallTypes) {
  for (const char* name : {"aten::_scaled_mm", "aten::_int_mm"}) {
    EXPECT_EQ(torch_flops(name, {{2, 3}, {3, 5}, {}, {}}, 10.0), 2.0 * 2 * 3 * 5) << name;
  }
}

// --- execution traces ---

// One sequence of 4, 2 heads of 3.
TEST(PytorchTrace, FlopsOfAttentionFollowFromItsShapes) {
  const Imported imported = read_pytorch_trace("t.json", R"et({"schema": "1.1.1", "nodes": [
 {"id": 2, "name": "aten::_efficient_attention_forward", "ctrl_deps": 1,
  "inputs": {"values": [[1,2,0,24,2,"cuda:0"],[3,4,0,24,2,"cuda:0"],[5,6,0,24,2,"cuda:0"],"<None>"],
             "shapes": [[1,4,2,3],[1,4,2,3],[1,4,2,3],[]]},
  "outputs": {"values": [[7,8,0,24,2,"cuda:0"]], "shapes": [[1,4,2,3]]},
  "attrs": [{"name": "op_schema", "type": "string", "value": "aten::_efficient(Tensor q)"}]}]})et");
  ASSERT_EQ(imported.graph.node_count(), 1u);
  // 4 x 4 meetings for each of 2 heads, two products of 3 multiply-adds.
  EXPECT_EQ(imported.graph.flops(NodeId(0)), 2.0 * 4 * 4 * 2 * 2 * 3);
}

TEST(TorchCalls, SchemasSayWhatIsWrittenAndWhatIsAView) {
  const auto parsed = [](const char* text) { return parse_torch_schema(text); };
  const TorchSchema add =
      parsed("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
  EXPECT_THAT(add.written, ElementsAre(true, false, false));
  EXPECT_FALSE(add.view);
  EXPECT_THAT(parsed("aten::_foreach_add_.List(Tensor(a!)[] self, Tensor[] other) -> ()").written,
              ElementsAre(true, false));
  EXPECT_THAT(parsed("aten::f(int[2] stride=[1, 2], *, Tensor(b!) out) -> Tensor(b!)").written,
              ElementsAre(false, true));
  EXPECT_TRUE(parsed("aten::t(Tensor(a) self) -> Tensor(a)").view);
  EXPECT_TRUE(parsed("aten::split(Tensor(a -> *) self, int n) -> Tensor(a)[]").view);
  EXPECT_FALSE(parsed("aten::max_pool2d_with_indices(Tensor self) -> (Tensor, Tensor)").view);
  EXPECT_TRUE(parsed("no schema").written.empty());
}

// A linear layer as PyTorch 1.13 traces it on a CPU: the product copies the bias where the result
// will be, and asks whether its factors are conjugated. None of these is the product.
TEST(PytorchTrace, AProductThatCallsOthersRemains) {
  const Imported imported = read_pytorch_trace("t.json", R"et({"schema": "1.0.1", "nodes": [
 {"name": "aten::as_strided", "id": 12, "parent": 11, "inputs": [[5,6,0,12,4,"cpu"]],
  "op_schema": "aten::as_strided(Tensor(a) self) -> Tensor(a)", "outputs": [[13,6,0,12,4,"cpu"]]},
 {"name": "aten::t", "id": 11, "parent": 9, "inputs": [[5,6,0,12,4,"cpu"]],
  "op_schema": "aten::t(Tensor(a) self) -> Tensor(a)", "outputs": [[13,6,0,12,4,"cpu"]]},
 {"name": "aten::copy_", "id": 15, "parent": 14, "inputs": [[18,19,0,8,4,"cpu"],[7,8,0,4,4,"cpu"]],
  "op_schema": "aten::copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)",
  "outputs": [[18,19,0,8,4,"cpu"]]},
 {"name": "aten::resolve_conj", "id": 16, "parent": 14, "inputs": [[3,4,0,6,4,"cpu"]],
  "op_schema": "aten::resolve_conj(Tensor(a) self) -> Tensor(a)", "outputs": [[3,4,0,6,4,"cpu"]]},
 {"name": "aten::addmm", "id": 14, "parent": 9,
  "inputs": [[7,8,0,4,4,"cpu"],[3,4,0,6,4,"cpu"],[13,6,0,12,4,"cpu"],1],
  "input_shapes": [[4],[2,3],[3,4],[]],
  "op_schema": "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1) -> Tensor",
  "outputs": [[18,19,0,8,4,"cpu"]]},
 {"name": "aten::linear", "id": 9, "parent": 2,
  "inputs": [[3,4,0,6,4,"cpu"],[5,6,0,12,4,"cpu"],[7,8,0,4,4,"cpu"]],
  "op_schema": "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
  "outputs": [[18,19,0,8,4,"cpu"]]}]})et");
  const graph::Graph& graph = imported.graph;
  ASSERT_EQ(graph.node_count(), 2u);
  EXPECT_EQ(graph.node_name(NodeId(0)), "aten::as_strided");
  EXPECT_EQ(graph.node_name(NodeId(1)), "aten::addmm");
  EXPECT_DOUBLE_EQ(*graph.flops(NodeId(1)), 2.0 * 2 * 3 * 4);
  EXPECT_EQ(graph.inputs(NodeId(1)).size(), 3u);
  EXPECT_THAT(imported.notes, Contains(HasSubstr("4 of 6 nodes")));
}

// The first sets memory aside and computes; the second only calls what computes, and is left out.
TEST(PytorchTrace, WhatIsCalledMustAccountForTheCall) {
  const Imported imported = read_pytorch_trace("t.json", R"et({"schema": "1.0.1", "nodes": [
 {"name": "aten::empty", "id": 11, "parent": 10, "inputs": [[8]],
  "op_schema": "aten::empty(int[] size) -> Tensor", "outputs": [[20,21,0,8,4,"cpu"]]},
 {"name": "aten::native_layer_norm", "id": 10, "parent": 2, "inputs": [[3,4,0,8,4,"cpu"]],
  "op_schema": "aten::native_layer_norm(Tensor input) -> Tensor",
  "outputs": [[20,21,0,8,4,"cpu"],[22,23,0,0,4,"cpu"]]},
 {"name": "aten::clamp_min", "id": 31, "parent": 30, "inputs": [[20,21,0,8,4,"cpu"],0],
  "op_schema": "aten::clamp_min(Tensor self, Scalar min) -> Tensor",
  "outputs": [[32,33,0,8,4,"cpu"]]},
 {"name": "aten::relu", "id": 30, "parent": 2, "inputs": [[20,21,0,8,4,"cpu"]],
  "op_schema": "aten::relu(Tensor self) -> Tensor", "outputs": [[32,33,0,8,4,"cpu"]]}]})et");
  const graph::Graph& graph = imported.graph;
  ASSERT_EQ(graph.node_count(), 2u);
  EXPECT_EQ(graph.node_name(NodeId(0)), "aten::native_layer_norm");
  EXPECT_EQ(graph.node_name(NodeId(1)), "aten::clamp_min");
  EXPECT_EQ(graph.producer(graph.inputs(NodeId(1))[0]), NodeId(0));
}

// As optimizers do: what is written in place does not come back as a result.
TEST(PytorchTrace, SchemasSayWhatIsWrittenInPlace) {
  const Imported imported = read_pytorch_trace("t.json", R"et({"schema": "1.1.1", "nodes": [
 {"id": 3, "name": "aten::_foreach_mul_", "ctrl_deps": 1,
  "inputs": {"values": [[[10,11,0,4,4,"cuda:0"],[12,13,0,4,4,"cuda:0"]], 0.9]},
  "outputs": {"values": []},
  "attrs": [{"name": "op_schema", "type": "string",
             "value": "aten::_foreach_mul_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()"}]},
 {"id": 4, "name": "aten::to", "ctrl_deps": 1, "inputs": {"values": [[12,13,0,4,4,"cuda:0"]]},
  "outputs": {"values": [[12,13,0,4,4,"cuda:0"]]},
  "attrs": [{"name": "op_schema", "type": "string",
             "value": "aten::to(Tensor(a) self) -> Tensor(a)"}]},
 {"id": 5, "name": "aten::sqrt", "ctrl_deps": 1, "inputs": {"values": [[12,13,0,4,4,"cuda:0"]]},
  "outputs": {"values": [[14,15,0,4,4,"cuda:0"]]},
  "attrs": [{"name": "op_schema", "type": "string",
             "value": "aten::sqrt(Tensor self) -> Tensor"}]}]})et");
  const graph::Graph& graph = imported.graph;
  ASSERT_EQ(graph.node_count(), 3u);
  EXPECT_EQ(graph.outputs(NodeId(0)).size(), 2u);
  EXPECT_DOUBLE_EQ(*graph.flops(NodeId(0)), 8.0);
  EXPECT_DOUBLE_EQ(*graph.bytes_written(NodeId(0)), 32.0);
  EXPECT_EQ(graph.producer(graph.inputs(NodeId(1))[0]), NodeId(0));
  EXPECT_DOUBLE_EQ(*graph.flops(NodeId(1)), 0.0);  // hands on what it was given
  EXPECT_EQ(graph.producer(graph.inputs(NodeId(2))[0]), NodeId(1));
}

// A kernel of Triton has no schema and no results: its first and last tensors count as written.
TEST(PytorchTrace, KernelsOfTritonAreOperators) {
  const Imported imported = read_pytorch_trace("t.json", R"et({"schema": "1.1.1", "nodes": [
 {"id": 3, "name": "triton_poi_fused_relu_0", "ctrl_deps": 1,
  "inputs": {"values": [[10,11,0,4,4,"cuda:0"],[12,13,0,4,4,"cuda:0"],4,"grid(4,)",0]},
  "outputs": {"values": []},
  "attrs": [{"name": "op_schema", "type": "string", "value": ""},
            {"name": "kernel_backend", "type": "string", "value": "triton"}]},
 {"id": 4, "name": "aten::mm", "ctrl_deps": 1,
  "inputs": {"values": [[12,13,0,4,4,"cuda:0"],[14,15,0,4,4,"cuda:0"]], "shapes": [[2,2],[2,2]]},
  "outputs": {"values": [[16,17,0,4,4,"cuda:0"]]},
  "attrs": [{"name": "op_schema", "type": "string",
             "value": "aten::mm(Tensor self, Tensor mat2) -> Tensor"}]}]})et");
  const graph::Graph& graph = imported.graph;
  ASSERT_EQ(graph.node_count(), 2u);
  EXPECT_EQ(graph.producer(graph.inputs(NodeId(1))[0]), NodeId(0));
}

// A linked trace: kernels are copies of the operator that launched them, with its results, one
// after the other. Of what runs on the CPU alone the whole duration counts.
TEST(PytorchTrace, KernelsOfLinkedTracesFollowEachOther) {
  const Imported imported = read_pytorch_trace("t.json", R"et({"schema": "1.1.1", "nodes": [
 {"id": 3, "name": "aten::mm", "ctrl_deps": 1, "exclusive_dur": 5, "inclusive_dur": 9,
  "inputs": {"values": [[10,11,0,4,4,"cuda:0"],[12,13,0,4,4,"cuda:0"]]},
  "outputs": {"values": [[16,17,0,4,4,"cuda:0"]]},
  "attrs": [{"name": "op_schema", "type": "string", "value": "aten::mm(Tensor a) -> Tensor"}]},
 {"id": 4, "name": "gemm", "ctrl_deps": 3, "exclusive_dur": 40, "inclusive_dur": 40, "cat": "kernel",
  "inputs": {"values": [[10,11,0,4,4,"cuda:0"],[12,13,0,4,4,"cuda:0"]]},
  "outputs": {"values": [[16,17,0,4,4,"cuda:0"]]},
  "attrs": [{"name": "op_schema", "type": "string", "value": "aten::mm(Tensor a) -> Tensor"}]},
 {"id": 5, "name": "splitk", "ctrl_deps": 3, "exclusive_dur": 6, "inclusive_dur": 6, "cat": "kernel",
  "inputs": {"values": [[10,11,0,4,4,"cuda:0"],[12,13,0,4,4,"cuda:0"]]},
  "outputs": {"values": [[16,17,0,4,4,"cuda:0"]]},
  "attrs": [{"name": "op_schema", "type": "string", "value": "aten::mm(Tensor a) -> Tensor"}]},
 {"id": 6, "name": "aten::index_select", "ctrl_deps": 1, "exclusive_dur": 20, "inclusive_dur": 23,
  "inter_thread_dep": null, "inputs": {"values": [[16,17,0,4,4,"cuda:0"]]},
  "outputs": {"values": [[18,19,0,4,4,"cpu"]]},
  "attrs": [{"name": "op_schema", "type": "string", "value": "aten::index_select(Tensor a) -> Tensor"}]},
 {"id": 7, "name": "aten::empty", "ctrl_deps": 6, "exclusive_dur": 3, "inclusive_dur": 3,
  "inputs": {"values": [[4]]}, "outputs": {"values": [[18,19,0,4,4,"cpu"]]},
  "attrs": [{"name": "op_schema", "type": "string", "value": "aten::empty(int[] s) -> Tensor"}]}]})et");
  const graph::Graph& graph = imported.graph;
  ASSERT_EQ(graph.node_count(), 3u);
  EXPECT_EQ(graph.node_name(NodeId(0)), "gemm");
  EXPECT_EQ(graph.node_name(NodeId(1)), "splitk");
  EXPECT_EQ(graph.producer(graph.inputs(NodeId(1)).back()), NodeId(0));
  EXPECT_EQ(graph.producer(graph.inputs(NodeId(2))[0]), NodeId(1));
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(0)), 40e-6);
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(2)), 23e-6);
}

TEST(PytorchTrace, AnnotationsAreScopes) {
  const Imported imported = read_pytorch_trace("t.json", R"et({"schema": "1.1.1", "nodes": [
 {"id": 1, "name": "[pytorch|profiler|execution_trace|thread]", "ctrl_deps": 1},
 {"id": 2, "name": "## forward ##", "ctrl_deps": 1},
 {"id": 3, "name": "nn.Module: Linear_0", "ctrl_deps": 2},
 {"id": 4, "name": "aten::relu", "ctrl_deps": 3, "inputs": {"values": [[10,11,0,4,4,"cpu"]]},
  "outputs": {"values": [[12,13,0,4,4,"cpu"]]}},
 {"id": 5, "name": "autograd::engine::evaluate_function: ReluBackward0", "ctrl_deps": 1},
 {"id": 6, "name": "aten::threshold_backward", "ctrl_deps": 5,
  "inputs": {"values": [[12,13,0,4,4,"cpu"]]}, "outputs": {"values": [[14,15,0,4,4,"cpu"]]}}]})et");
  ASSERT_EQ(imported.graph.node_count(), 2u);
  EXPECT_EQ(imported.graph.scope(NodeId(0)), "## forward ##/Linear_0");
  EXPECT_EQ(imported.graph.scope(NodeId(1)), "");
}

// --- Kineto ---

// A CUDA graph between two ops: its kernels name no op, and the call that launched them is in none.
TEST(Kineto, KernelsOfCudaGraphsAreOpsWhereTheyWereLaunched) {
  const Imported imported = read_kineto("t.json", R"({"traceEvents": [
 {"ph": "X", "cat": "cpu_op", "name": "aten::embedding", "pid": 1, "tid": 1, "ts": 0, "dur": 10,
  "args": {"External id": 1, "Input Dims": [[4]], "Input type": ["float"]}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 1, "tid": 1, "ts": 20, "dur": 2,
  "args": {"External id": 2}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1, "tid": 1, "ts": 30,
  "dur": 5, "args": {"correlation": 9}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::argmax", "pid": 1, "tid": 1, "ts": 60, "dur": 10,
  "args": {"External id": 3, "Input Dims": [[8]], "Input type": ["float"]}},
 {"ph": "X", "cat": "kernel", "name": "norm", "pid": 0, "tid": 7, "ts": 90, "dur": 10,
  "args": {"correlation": 9}},
 {"ph": "X", "cat": "kernel", "name": "embed", "pid": 0, "tid": 7, "ts": 20, "dur": 5,
  "args": {"External id": 1, "correlation": 8}},
 {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 50, "dur": 40,
  "args": {"correlation": 9}},
 {"ph": "X", "cat": "kernel", "name": "max", "pid": 0, "tid": 7, "ts": 100, "dur": 3,
  "args": {"External id": 3, "correlation": 10}}]})");
  const graph::Graph& graph = imported.graph;
  ASSERT_EQ(graph.node_count(), 4u);
  // On the thread: embedding, the launch, argmax. On the GPU: gemm before norm.
  EXPECT_THAT(operation_edges(graph),
              ElementsAre("aten::embedding>gemm", "gemm>norm", "norm>aten::argmax"));
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(0)), 5e-6);
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(1)), 40e-6);
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(2)), 10e-6);
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(3)), 3e-6);
  EXPECT_THAT(imported.notes, Contains(HasSubstr("2 GPU events belong to no op")));
  EXPECT_THAT(imported.notes, Contains(HasSubstr("1 of 3 ops only call others or start nothing")));
}

// If no op launched anything, the events on the GPU are all nodes, in a chain for each stream. The
// chain of stream 8 begins at 62, after a, which ended at 60, and not after b, which ends at 65.
TEST(Kineto, KernelsAloneFollowTheirStreams) {
  const Imported imported = read_kineto("t.json", R"([
 {"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 1, "tid": 1, "ts": 0, "dur": 500},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1, "tid": 1, "ts": 600,
  "dur": 5, "args": {"correlation": 9}},
 {"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 50, "dur": 10,
  "args": {"correlation": 9}},
 {"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 60, "dur": 5,
  "args": {"correlation": 9}},
 {"ph": "X", "cat": "gpu_memcpy", "name": "c", "pid": 0, "tid": 8, "ts": 62, "dur": 1,
  "args": {"correlation": 9}}])");
  const graph::Graph& graph = imported.graph;
  ASSERT_EQ(graph.node_count(), 3u);
  EXPECT_THAT(operation_edges(graph), ElementsAre("a>b", "a>c"));
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(0)), 10e-6);
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(2)), 1e-6);
  EXPECT_THAT(imported.notes, Contains(HasSubstr("3 GPU events belong to no op")));
}

// Events on the GPU that name no call either stay on their stream, beside the ops.
TEST(Kineto, KernelsWithoutACallAreBesideTheOps) {
  const Imported imported = read_kineto("t.json", R"([
 {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 0, "dur": 10,
  "args": {"External id": 1}},
 {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 20,
  "args": {"External id": 1}},
 {"ph": "X", "cat": "gpu_memset", "name": "fill", "pid": 0, "tid": 7, "ts": 30, "dur": 4}])");
  const graph::Graph& graph = imported.graph;
  ASSERT_EQ(graph.node_count(), 2u);
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(0)), 20e-6);
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(1)), 4e-6);
  EXPECT_THAT(operation_edges(graph),
              ElementsAre("op>fill"));  // op had ended at 10, fill starts at 30
  EXPECT_THAT(imported.notes, Contains(HasSubstr("1 GPU events belong to no op")));
  EXPECT_THAT(imported.notes, Not(Contains(HasSubstr("left out"))));
}

// A linear layer on a CPU: the product spends 70 of its 90 us in nothing that it calls, and is one
// node; the layer 8 of 110, and is none. What is no operator never stands for what it calls.
TEST(Kineto, OpsThatWorkThemselvesAreOneWithWhatTheyCall) {
  const Imported imported = read_kineto("t.json", R"([
 {"ph": "X", "cat": "cpu_op", "name": "step", "pid": 1, "tid": 1, "ts": 0, "dur": 1000},
 {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1, "ts": 5, "dur": 110},
 {"ph": "X", "cat": "cpu_op", "name": "aten::t", "pid": 1, "tid": 1, "ts": 6, "dur": 12},
 {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 1, "tid": 1, "ts": 20, "dur": 90},
 {"ph": "X", "cat": "cpu_op", "name": "aten::copy_", "pid": 1, "tid": 1, "ts": 30, "dur": 20},
 {"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 1, "ts": 120, "dur": 7}])");
  const graph::Graph& graph = imported.graph;
  ASSERT_EQ(graph.node_count(), 3u);
  EXPECT_THAT(operation_edges(graph), ElementsAre("aten::t>aten::addmm", "aten::addmm>aten::relu"));
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(1)), 90e-6);
  EXPECT_THAT(imported.notes, Contains(HasSubstr("3 of 6 ops only call others or are part")));
}

// Some versions write a kernel's correlation for its external id too, where ops count theirs
// from 1: here mul has the same number by chance, and add launched the kernel.
TEST(Kineto, ACorrelationIsNoOpsId) {
  const Imported imported = read_kineto("t.json", R"([
 {"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 1, "tid": 1, "ts": 0, "dur": 10,
  "args": {"External id": 7}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 20, "dur": 10,
  "args": {"External id": 8}},
 {"ph": "X", "cat": "xpu_runtime", "name": "launch", "pid": 1, "tid": 1, "ts": 22, "dur": 3,
  "args": {"External id": 7, "correlation": 7}},
 {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 50, "dur": 20,
  "args": {"External id": 7, "correlation": 7}}])");
  ASSERT_EQ(imported.graph.node_count(), 1u);
  EXPECT_EQ(imported.graph.node_name(NodeId(0)), "aten::add");
}

// A trace as PyTorch writes it if it is built without Kineto.
TEST(Kineto, WithoutCategoriesTheProcessTells) {
  const Imported imported = read_kineto("t.json", R"([
 {"name": "aten::zeros", "ph": "X", "ts": 75, "dur": 13, "tid": 1, "pid": "CPU functions",
  "args": {}},
 {"name": "aten::add", "ph": "X", "ts": 95, "dur": 4, "tid": 1, "pid": "CPU functions",
  "args": {}}])");
  EXPECT_THAT(operation_edges(imported.graph), ElementsAre("aten::zeros>aten::add"));
}

TEST(Kineto, ModulesAreScopes) {
  const Imported imported = read_kineto("t.json", R"([
 {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 0,
  "dur": 900},
 {"ph": "X", "cat": "python_function", "name": "nn.Module: Net_0", "pid": 1, "tid": 1, "ts": 1,
  "dur": 100},
 {"ph": "X", "cat": "python_function", "name": "net.py(3): forward", "pid": 1, "tid": 1, "ts": 1,
  "dur": 99},
 {"ph": "X", "cat": "python_function", "name": "nn.Module: Linear_0", "pid": 1, "tid": 1, "ts": 2,
  "dur": 20},
 {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 1, "tid": 1, "ts": 5, "dur": 10},
 {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 50, "dur": 10},
 {"ph": "X", "cat": "cpu_op", "name": "aten::sum", "pid": 1, "tid": 1, "ts": 200, "dur": 10}])");
  const graph::Graph& graph = imported.graph;
  ASSERT_EQ(graph.node_count(), 3u);
  EXPECT_EQ(graph.scope(NodeId(0)), "Net_0/Linear_0");
  EXPECT_EQ(graph.scope(NodeId(1)), "Net_0");
  EXPECT_EQ(graph.scope(NodeId(2)), "");
}

}  // namespace
}  // namespace doppler::formats
