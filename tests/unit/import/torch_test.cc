// What operators of PyTorch cost, and traces of what ran on a GPU without an operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "doppler/graph/graph.h"
#include "doppler/import/kineto.h"
#include "doppler/import/pytorch_trace.h"
#include "doppler/import/torch_ops.h"

namespace doppler::import {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// "a>b" for every pair that a tensor joins, in the order of the consumers.
std::vector<std::string> edges(const graph::Graph& graph) {
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
        "aten::_scaled_dot_product_efficient_attention", "aten::scaled_dot_product_attention"}) {
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
  EXPECT_THAT(edges(graph), ElementsAre("aten::embedding>gemm", "gemm>norm", "norm>aten::argmax"));
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(0)), 5e-6);
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(1)), 40e-6);
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(2)), 10e-6);
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(3)), 3e-6);
  EXPECT_THAT(imported.notes, Contains(HasSubstr("2 GPU events belong to no op")));
  EXPECT_THAT(imported.notes, Contains(HasSubstr("1 of 3 ops only call others or start nothing")));
}

// Where no op launched anything, what ran on the GPU is all there is: a chain for each stream. On
// stream 8 it begins after a, which had ended at 60; b ends at 65.
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
  EXPECT_THAT(edges(graph), ElementsAre("a>b", "a>c"));
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(0)), 10e-6);
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(2)), 1e-6);
  EXPECT_THAT(imported.notes, Contains(HasSubstr("3 GPU events belong to no op")));
}

// What names no call either keeps to its stream beside the ops.
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
  EXPECT_THAT(edges(graph), ElementsAre("op>fill"));  // op had ended at 10, fill starts at 30
  EXPECT_THAT(imported.notes, Contains(HasSubstr("1 GPU events belong to no op")));
  EXPECT_THAT(imported.notes, Not(Contains(HasSubstr("left out"))));
}

}  // namespace
}  // namespace doppler::import
