// The readers of foreign formats, each on a small file that shows all that it reads.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "doppler/base/archive.h"
#include "doppler/formats/formats.h"
#include "doppler/formats/task_graph.h"
#include "doppler/formats/traces/traces.h"
#include "support/errors.h"
#include "support/packed_bytes.h"

namespace doppler::formats {
namespace {

using test::error_of;
using test::gzip;
using test::tar_member;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

NodeId task_node(const graph::Graph& graph, std::string_view name) {
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    if (graph.node_name(NodeId::of(v)) == name) return NodeId::of(v);
  }
  ADD_FAILURE() << "no node " << name;
  return NodeId(0);
}

// "a>b" for every pair that a tensor joins, in the order of the consumers' inputs.
std::vector<std::string> producer_edges(const graph::Graph& graph) {
  std::vector<std::string> found;
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    for (const TensorId tensor : graph.inputs(NodeId::of(v))) {
      const NodeId producer = graph.producer(tensor);
      const std::string from(producer.valid() ? graph.node_name(producer)
                                              : graph.tensor_name(tensor));
      found.push_back(from + ">" + std::string(graph.node_name(NodeId::of(v))));
    }
  }
  return found;
}

Imported read_as(const std::string& text, std::string_view format) {
  EXPECT_EQ(recognise(text).name, format);
  return parse("dir/g.in", text);
}

std::string error(const std::string& text) {
  return error_of([&] { parse("g.in", text); });
}

// --- MSR ---

constexpr const char* kMsr = R"({"maxSizePerFPGA": 1000.0, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [
  {"id": 7, "name": "a", "supportedOnFpga": 1, "cpuLatency": 10.0, "fpgaLatency": 1.0,
   "isBackwardNode": false, "colorClass": 3, "size": 600.0},
  {"id": 8, "name": "b", "supportedOnFpga": false, "cpuLatency": 4, "fpgaLatency": 2,
   "isBackwardNode": true, "size": 0.0, "layerId": 5},
  {"id": 9, "name": "a", "supportedOnFpga": true, "cpuLatency": 8, "fpgaLatency": 0.5,
   "isBackwardNode": false, "colorClass": 3, "size": 300}],
 "edges": [{"sourceId": 7, "destId": 8, "cost": 2.0, "size": 4000.0},
           {"sourceId": 7, "destId": 9, "cost": 2.0, "size": 4000.0}]})";

TEST(Msr, TimesMemoryColocationAndMachine) {
  const Imported imported = read_as(kMsr, "msr");
  const graph::Graph& graph = imported.graph;
  EXPECT_EQ(graph.name(), "g");
  ASSERT_EQ(graph.node_count(), 3u);
  EXPECT_EQ(graph.node_name(NodeId(2)), "a#2");  // the name is taken
  // 10 ms on a CPU, 1 ms on an accelerator; b has no time for accelerators.
  const auto times = graph.times_by_kind(NodeId(0));
  ASSERT_EQ(times.size(), 2u);
  EXPECT_DOUBLE_EQ(times[0].time, 0.010);
  EXPECT_DOUBLE_EQ(times[1].time, 0.001);
  EXPECT_EQ(graph.times_by_kind(NodeId(1)).size(), 1u);
  EXPECT_EQ(graph.op_kind(NodeId(1)), "backward");
  ASSERT_EQ(graph.constraints().colocated.size(), 1u);
  EXPECT_THAT(graph.constraints().colocated[0], ElementsAre(NodeId(0), NodeId(2)));
  // One result of 4000 bytes that both read; 600 and 300 bytes stay with their nodes.
  EXPECT_THAT(producer_edges(graph), ElementsAre("a.memory>a", "a>b", "a.memory#1>a#2", "a>a#2"));
  ASSERT_TRUE(imported.machine);
  const device::Topology machine(*imported.machine);
  ASSERT_EQ(machine.device_count(), 3u);
  EXPECT_EQ(machine.device(DeviceId(0)).memory_bytes, 1000u);
  EXPECT_EQ(machine.device(DeviceId(2)).memory_bytes, device::kUnlimitedMemory);
  EXPECT_DOUBLE_EQ(*graph.bytes(graph.outputs(NodeId(0))[0]), 4000.0);
  // On the file's own devices only what nodes take up counts, and moving a result takes its cost.
  const graph::Graph own = parse("g", kMsr, {.import = {.own_devices = true}}).graph;
  EXPECT_EQ(own.bytes(own.outputs(NodeId(0))[0]), std::nullopt);
  EXPECT_DOUBLE_EQ(*own.transfer_time(own.outputs(NodeId(0))[0]), 0.002);
}

TEST(Msr, ErrorsHaveAPlace) {
  EXPECT_EQ(error(R"({"maxSizePerFPGA": 1, "nodes": [
{"id": 1, "cpuLatency": 1}, {"id": 1, "cpuLatency": 1}], "edges": []})"),
            "g.in:2:29: the id 1 stands twice");
  EXPECT_EQ(error(R"({"maxSizePerFPGA": 1, "nodes": [{"id": 1, "cpuLatency": 1}],
"edges": [{"sourceId": 1, "destId": 2, "cost": 1}]})"),
            "g.in:2:11: there is no node 2");
  EXPECT_THAT(error(R"({"maxSizePerFPGA": 1, "nodes": [{"id": 1, "cpuLatency": -1}]})"),
              HasSubstr("cpuLatency must be a finite number >= 0"));
  EXPECT_THAT(error(R"({"maxSizePerFPGA": 1, "maxFPGAs": 1e9, "nodes": []})"),
              HasSubstr("maxFPGAs must be an integer up to"));
}

// --- PipeDream ---

constexpr const char* kPipedream =
    "node1 -- Input0 -- forward_compute_time=0.000, backward_compute_time=0.000, "
    "activation_size=0.0, parameter_size=0.000\n"
    "node2 -- Conv2d(3, 64, kernel_size=(3, 3)) -- forward_compute_time=2.000, "
    "backward_compute_time=3.000, activation_size=[100.0; 20.0], parameter_size=50.000\n"
    "node3 -- ReLU(inplace) -- forward_compute_time=1.000, backward_compute_time=0.500, "
    "activation_size=100.0, parameter_size=0.000 -- stage_id=1\n"
    "\tnode1 -- node2\n\tnode2 -- node3\n";

TEST(Pipedream, ForwardAndBackwardPassesShareADevice) {
  const Imported imported = read_as(kPipedream, "pipedream");
  const graph::Graph& graph = imported.graph;
  ASSERT_EQ(graph.node_count(), 6u);
  const NodeId conv = task_node(graph, "node2"), back = task_node(graph, "node2.backward");
  EXPECT_EQ(graph.op_kind(conv), "Conv2d");
  EXPECT_DOUBLE_EQ(*graph.given_time(conv), 0.002);
  EXPECT_DOUBLE_EQ(*graph.given_time(back), 0.003);
  EXPECT_DOUBLE_EQ(*graph.bytes(graph.outputs(conv)[0]), 120.0);
  EXPECT_THAT(graph.constraints().colocated[1], ElementsAre(conv, back));
  EXPECT_THAT(producer_edges(graph), Contains("node3.backward>node2.backward"));
  EXPECT_THAT(producer_edges(graph), Contains("node2>node2.backward"));
  EXPECT_THAT(producer_edges(graph), Contains("node2.weights>node2.backward"));
}

TEST(Pipedream, WithoutBackwardTimesThereIsOnlyAForwardPass) {
  const Imported imported = read_as(
      "node1 -- A -- forward_compute_time=1, backward_compute_time=0, activation_size=8, "
      "parameter_size=0\n",
      "pipedream");
  EXPECT_EQ(imported.graph.node_count(), 1u);
}

TEST(Pipedream, ErrorsHaveAPlace) {
  const std::string good = std::string(kPipedream);
  EXPECT_EQ(error(good + "\tnode3 -- node9\n"), "g.in:6:2: there is no layer 'node9'");
  EXPECT_EQ(error(good + "nonsense\n"),
            "g.in:6:1: expected 'node -- description -- costs' or 'node -- node'");
  EXPECT_THAT(error("node1 -- A -- forward_compute_time=x, backward_compute_time=0\n"),
              HasSubstr("g.in:1:1: forward_compute_time must be a finite number >= 0"));
  EXPECT_THAT(error(good + "\tnode3 -- node1\n"), HasSubstr("cycle"));
}

// --- Chakra ---

TEST(Chakra, JsonOfOneObject) {
  const Imported imported = read_as(R"({"workload_graph": [
    {"Id": 5, "Name": "x", "NodeType": 4, "runtime": 12, "data_deps": [], "is_cpu_op": true},
    {"Id": 6, "Name": "x", "NodeType": 7, "ctrlDeps": [5], "data_deps": [5, 99],
     "comm_size": 64}]})",
                                    "chakra");
  const graph::Graph& graph = imported.graph;
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(0)), 12e-6);
  EXPECT_EQ(graph.op_kind(NodeId(1)), "collective");
  EXPECT_EQ(graph.node_name(NodeId(1)), "x#1");
  EXPECT_DOUBLE_EQ(*graph.bytes_read(NodeId(1)), 64.0);
  EXPECT_THAT(imported.notes,
              Contains("1 dependencies name nodes that are not in the trace, and are left out"));
}

TEST(Chakra, JsonOfAnObjectForEachMessage) {
  const Imported imported = read_as(R"({"version": "0.0.4"}
    {"id": "1", "name": "a", "type": "COMP_NODE", "durationMicros": "7",
     "attr": [{"name": "is_cpu_op", "boolVal": true}, {"name": "rate", "doubleVal": "NaN"}]}
    {"id": "2", "name": "b", "type": "COMP_NODE", "dataDeps": ["1"],
     "attr": [{"name": "num_ops", "int64Val": "1000"}],
     "outputs": {"values": "[[12, 13, 0, 10, 4, 'cuda:0']]"}})",
                                    "chakra");
  const graph::Graph& graph = imported.graph;
  ASSERT_EQ(graph.node_count(), 2u);
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(0)), 7e-6);
  EXPECT_DOUBLE_EQ(*graph.flops(NodeId(1)), 1000.0);
  EXPECT_DOUBLE_EQ(*graph.bytes(graph.outputs(NodeId(1))[0]), 40.0);
  EXPECT_THAT(producer_edges(graph), ElementsAre("a>b"));
}

std::string message(const std::string& bytes) {
  return static_cast<char>(bytes.size()) + bytes;
}

TEST(Chakra, Protobuf) {
  // GlobalMetadata{version = "1"}; Node{id 1, name "a", type 4, duration 300};
  // Node{id 2, name "b", type 7, data_deps [1] packed, ctrl_deps 1 alone, attr comm_size = 5}.
  const std::string attribute =
      std::string("\x0a\x09") + "comm_size" + "\x48\x05";  // name = 1, int64_val = 9
  const std::string trace = message(
                                "\x0a\x01"
                                "1") +
                            message(std::string("\x08\x01\x12\x01"
                                                "a\x18\x04\x38\xac\x02")) +
                            message(std::string("\x08\x02\x12\x01"
                                                "b\x18\x07\x2a\x01\x01\x20\x01\x52") +
                                    message(attribute));
  const Imported imported = read_as(trace, "chakra");
  const graph::Graph& graph = imported.graph;
  ASSERT_EQ(graph.node_count(), 2u);
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(0)), 300e-6);
  EXPECT_DOUBLE_EQ(*graph.bytes_read(NodeId(1)), 5.0);
  EXPECT_THAT(producer_edges(graph), ElementsAre("a>b"));  // what is data and control is data
  EXPECT_THAT(
      error_of([&] { parse("t.et", trace.substr(0, trace.size() - 3), {.format = "chakra"}); }),
      HasSubstr("t.et: byte "));
}

TEST(Chakra, BytesOfPrintedTensors) {
  const auto tensors = tensors_in("[[1, 2, 0, 6, 4, 'cpu'], [3, [4, 5, 0, 2, 8, 'cuda:0']], 1.5]");
  ASSERT_TRUE(tensors);
  EXPECT_EQ(tensors->elements, 8.0);
  EXPECT_EQ(tensors->bytes, 40.0);
  EXPECT_FALSE(tensors_in("[1, 2, 3]"));
  EXPECT_FALSE(tensors_in("['"));
}

// --- PyTorch execution traces ---

constexpr const char* kPytorch = R"et({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [
 {"id": 10, "name": "aten::mm", "ctrl_deps": 5,
  "inputs": {"values": [[1,2,0,6,4,"cuda:0"],[3,4,0,12,4,"cuda:0"]],
             "shapes": [[2,3],[3,4]], "types": ["Tensor(float)","Tensor(float)"]},
  "outputs": {"values": [[20,21,0,8,4,"cuda:0"]], "shapes": [[2,4]], "types": ["Tensor(float)"]},
  "attrs": [{"name": "op_schema", "type": "string", "value": "aten::mm(Tensor self)"}]},
 {"id": 11, "name": "aten::relu_", "ctrl_deps": 5,
  "inputs": {"values": [[20,21,0,8,4,"cuda:0"]], "shapes": [[2,4]], "types": ["Tensor(float)"]},
  "outputs": {"values": [[20,21,0,8,4,"cuda:0"]], "shapes": [[2,4]], "types": ["Tensor(float)"]},
  "attrs": []},
 {"id": 12, "name": "aten::t", "ctrl_deps": 5,
  "inputs": {"values": [[20,21,0,8,4,"cuda:0"]], "shapes": [[2,4]], "types": ["Tensor(float)"]},
  "outputs": {"values": [[30,21,0,8,4,"cuda:0"]], "shapes": [[4,2]], "types": ["Tensor(float)"]},
  "attrs": []},
 {"id": 13, "name": "aten::cat", "ctrl_deps": 5,
  "inputs": {"values": [[[30,21,0,8,4,"cuda:0"],[20,21,0,8,4,"cuda:0"]], 0],
             "shapes": [[[4,2],[2,4]],[]], "types": ["GenericList[Tensor,Tensor]","Int"]},
  "outputs": {"values": [[40,41,0,16,4,"cuda:0"]], "shapes": [[16]], "types": ["Tensor(float)"]},
  "attrs": []},
 {"id": 5, "name": "module", "ctrl_deps": 1, "inputs": {"values": [], "shapes": [], "types": []},
  "outputs": {"values": [], "shapes": [], "types": []}, "attrs": []}]})et";

TEST(PytorchTrace, TensorsJoinTheLeavesOfTheCalls) {
  const Imported imported = read_as(kPytorch, "pytorch-et");
  const graph::Graph& graph = imported.graph;
  ASSERT_EQ(graph.node_count(), 4u);
  EXPECT_THAT(producer_edges(graph),
              ElementsAre("tensor1>aten::mm", "tensor3>aten::mm", "aten::mm>aten::relu_",
                          "aten::relu_>aten::t", "aten::t>aten::cat", "aten::relu_>aten::cat"));
  EXPECT_DOUBLE_EQ(*graph.flops(NodeId(0)), 2 * 2 * 3 * 4);
  EXPECT_DOUBLE_EQ(*graph.bytes_read(NodeId(0)), 6 * 4 + 12 * 4);
  EXPECT_DOUBLE_EQ(*graph.flops(NodeId(2)), 0.0);  // a view
  EXPECT_THAT(imported.notes[0], HasSubstr("1 of 5 nodes"));
}

// --- Kineto ---

TEST(Kineto, KernelsBelongToTheOpsThatLaunchThem) {
  const Imported imported = read_as(R"({"schemaVersion": 1, "traceEvents": [
 {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1, "ts": 0, "dur": 50,
  "args": {"External id": 1}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 1, "tid": 1, "ts": 5, "dur": 30,
  "args": {"External id": 2, "Input Dims": [[2, 3], []], "Input type": ["c10::Half", "Scalar"]}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 1, "ts": 60, "dur": 10,
  "args": {"External id": 3, "Input Dims": [[5, 2]], "Input type": ["float"]}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 62,
  "dur": 3, "args": {"correlation": 77}},
 {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 40, "dur": 200,
  "args": {"External id": 2, "stream": 7}},
 {"ph": "X", "cat": "kernel", "name": "relu_kernel", "pid": 0, "tid": 7, "ts": 240, "dur": 20,
  "args": {"correlation": 77}},
 {"ph": "i", "name": "marker", "ts": 3}]})",
                                    "kineto");
  const graph::Graph& graph = imported.graph;
  ASSERT_EQ(graph.node_count(), 2u);
  EXPECT_DOUBLE_EQ(*graph.given_time(task_node(graph, "aten::addmm")), 200e-6);
  EXPECT_DOUBLE_EQ(*graph.given_time(task_node(graph, "aten::relu")), 20e-6);
  EXPECT_THAT(producer_edges(graph), ElementsAre("aten::addmm>aten::relu"));
  EXPECT_DOUBLE_EQ(*graph.bytes(graph.outputs(NodeId(0))[0]), 40.0);  // 5 x 2 floats
}

TEST(Kineto, WithoutAGpuTheInnermostOpsCount) {
  const Imported imported = read_as(R"([
 {"ph": "X", "cat": "cpu_op", "name": "outer", "pid": 1, "tid": 1, "ts": 0, "dur": 50},
 {"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 1, "tid": 1, "ts": 5, "dur": 30},
 {"ph": "X", "cat": "cpu_op", "name": "backward", "pid": 1, "tid": 2, "ts": 70, "dur": 8}])",
                                    "kineto");
  EXPECT_THAT(producer_edges(imported.graph), ElementsAre("inner>backward"));
  EXPECT_DOUBLE_EQ(*imported.graph.given_time(NodeId(0)), 30e-6);
}

// --- WfFormat ---

TEST(Wfformat, FilesJoinTasksAndParentsOnlyWait) {
  const Imported imported = read_as(R"({"name": "w", "schemaVersion": "1.5", "workflow": {
 "specification": {"tasks": [
   {"name": "split", "id": "t1", "parents": [], "children": ["t2", "t3"], "inputFiles": ["in"],
    "outputFiles": ["x"]},
   {"name": "use", "id": "t2", "parents": ["t1"], "children": [], "inputFiles": ["x"],
    "outputFiles": []},
   {"name": "use", "id": "t3", "parents": ["t1"], "children": [], "inputFiles": [],
    "outputFiles": []}],
  "files": [{"id": "in", "sizeInBytes": 7}, {"id": "x", "sizeInBytes": 9}]},
 "execution": {"makespanInSeconds": 3, "tasks": [{"id": "t1", "runtimeInSeconds": 2.5},
   {"id": "t2", "runtimeInSeconds": 1}, {"id": "t3", "runtimeInSeconds": 4}],
  "machines": [{"nodeName": "m"}]}}})",
                                    "wfformat");
  const graph::Graph& graph = imported.graph;
  EXPECT_EQ(graph.name(), "w");
  EXPECT_DOUBLE_EQ(*graph.given_time(task_node(graph, "t1")), 2.5);
  EXPECT_EQ(graph.op_kind(task_node(graph, "t3")), "use");
  EXPECT_THAT(producer_edges(graph), ElementsAre("in>t1", "t1>t2", "t1>t3"));
  EXPECT_DOUBLE_EQ(*graph.bytes(graph.inputs(task_node(graph, "t2"))[0]), 9.0);
  EXPECT_DOUBLE_EQ(*graph.bytes(graph.inputs(task_node(graph, "t3"))[0]), 0.0);
}

TEST(Wfformat, OlderVersionsHaveEverythingInTheTask) {
  const Imported imported = read_as(R"({"name": "w", "schemaVersion": "1.4", "workflow": {"tasks": [
 {"name": "a_1", "runtimeInSeconds": 2, "parents": [], "children": ["b_1"],
  "files": [{"link": "output", "name": "f", "sizeInBytes": 5}]},
 {"name": "b_1", "parents": ["a_1"], "children": [],
  "files": [{"link": "input", "name": "f", "sizeInBytes": 5}]}]}})",
                                    "wfformat");
  EXPECT_THAT(producer_edges(imported.graph), ElementsAre("a_1>b_1"));
  EXPECT_DOUBLE_EQ(*imported.graph.given_time(NodeId(1)), 2.0);  // the mean of those that have one
  EXPECT_THAT(imported.notes, Contains("1 tasks have no run time: 2 s is taken for each"));
  EXPECT_THAT(error(R"({"workflow": {"tasks": [{"name": "a", "parents": ["z"]}]}})"),
              HasSubstr("there is no task 'z'"));
}

// b and c both write x; c comes first in the file, but d's parent is b. A path is part of the name.
TEST(Wfformat, ReadersTakeFilesFromTheirParents) {
  const Imported imported = read_as(R"({"name": "w", "workflow": {"tasks": [
   {"name": "c", "runtime": 1, "parents": ["d"], "files": [
     {"link": "output", "name": "x", "size": 5}, {"link": "input", "name": "y", "size": 4}]},
   {"name": "b", "runtime": 1, "files": [{"link": "output", "name": "x", "size": 5},
     {"link": "input", "path": "in/", "name": "x", "sizeInBytes": null}]},
   {"name": "d", "runtime": 1, "parents": ["b"], "files": [
     {"link": "input", "name": "x", "size": 5}, {"link": "output", "name": "y", "size": 4}]}]}})",
                                    "wfformat");
  EXPECT_THAT(producer_edges(imported.graph),
              testing::UnorderedElementsAre("d>c", "in/x>b", "b>d"));
  EXPECT_THAT(imported.notes, Contains(HasSubstr("1 files are written by several tasks")));
  EXPECT_THAT(imported.notes, Contains(HasSubstr("1 files have no size")));
}

// --- DAGBench ---

TEST(Dagbench, TheTaskGraphAlone) {
  const Imported saga = read_as(R"({"tasks": [{"name": "a", "cost": 6}, {"name": "b", "cost": 2}],
   "dependencies": [{"source": "a", "target": "b", "size": 30, "probability": 1.0}]})",
                                "dagbench");
  EXPECT_THAT(producer_edges(saga.graph), ElementsAre("a>b"));
  const Imported networkx = read_as(R"({"directed": true, "multigraph": false, "graph": {},
   "nodes": [{"weight": 0.5, "id": 0}, {"weight": 2, "id": 1}],
   "links": [{"weight": 30, "source": 0, "target": 1}]})",
                                    "dagbench");
  EXPECT_THAT(producer_edges(networkx.graph), ElementsAre("0>1"));
  EXPECT_DOUBLE_EQ(*networkx.graph.given_time(NodeId(0)), 0.5);
  EXPECT_DOUBLE_EQ(*networkx.graph.bytes(networkx.graph.outputs(NodeId(0))[0]), 30.0);
  EXPECT_THAT(error(R"({"directed": false, "nodes": [{"id": 1, "weight": 1}], "links": []})"),
              HasSubstr("does not say what comes first"));
}

TEST(Dagbench, TimesBySpeedAndTheNetwork) {
  const Imported imported = read_as(R"({"name": "d", "task_graph": {
   "tasks": [{"name": "a", "cost": 6}, {"name": "b", "cost": 2}],
   "dependencies": [{"source": "a", "target": "b", "size": 30}]},
  "network": {"nodes": [{"name": "n0", "speed": 1.0}, {"name": "n1", "speed": 3.0}],
   "edges": [{"source": "n0", "target": "n1", "speed": 10}, {"source": "n0", "target": "n0",
     "speed": 1e9}]}})",
                                    "dagbench");
  const graph::Graph& graph = imported.graph;
  EXPECT_DOUBLE_EQ(*graph.given_time(NodeId(0)), 6.0);
  EXPECT_DOUBLE_EQ(graph.times_by_kind(NodeId(0))[0].time, 2.0);  // 6 at speed 3
  EXPECT_DOUBLE_EQ(*graph.transfer_time(graph.outputs(NodeId(0))[0]), 3.0);
  const device::Topology machine(*imported.machine);
  EXPECT_EQ(machine.device(DeviceId(1)).name, "n1");
  EXPECT_EQ(machine.kind(DeviceId(1)).name, "speed3");
}

// Without a network that can be used there are no times by speed either: 4000 of them for each of
// 4000 tasks would fill the memory.
TEST(Dagbench, LeavesOutLargeNetworks) {
  std::string nodes, tasks;
  for (int i = 0; i < 4000; ++i) {
    nodes += fmt::format(R"({}{{"name": "n{}", "speed": {}}})", i == 0 ? "" : ",", i, i + 2);
    tasks += fmt::format(R"({}{{"name": "t{}", "cost": 1}})", i == 0 ? "" : ",", i);
  }
  const Imported imported =
      read_as(fmt::format(R"({{"task_graph": {{"tasks": [{}], "dependencies": []}},
        "network": {{"nodes": [{}], "edges": []}}}})",
                          tasks, nodes),
              "dagbench");
  EXPECT_TRUE(imported.graph.times_by_kind(NodeId(0)).empty());
  EXPECT_FALSE(imported.machine);
  EXPECT_THAT(imported.notes, Contains(HasSubstr("the file's network is left out: more than 512")));
}

// Names like numbered ones, then as many of one name: none of the numbers is tried twice.
TEST(TaskGraph, ManyNodesOfOneName) {
  constexpr int kCount = 30'000;
  TaskGraph graph("f", "");
  for (int i = 0; i < kCount; ++i) graph.add({.name = fmt::format("a#{}", kCount + i)}, 0);
  for (int i = 0; i < kCount; ++i) graph.add({.name = "a"}, 0);
  const graph::Graph built = std::move(graph).build("g");
  EXPECT_EQ(built.node_name(NodeId::of(2 * kCount - 1)), fmt::format("a#{}", 3 * kCount - 2));
}

// --- archives ---

TEST(Archive, UnpacksGzipAndTar) {
  const std::string tar = tar_member("x/a.txt", "hello") + tar_member("b", std::string(600, 'b')) +
                          std::string(1024, '\0');
  for (const std::string& packed : {tar, gzip(tar)}) {
    ASSERT_TRUE(is_packed(packed));
    const auto members = unpack("t", packed);
    ASSERT_EQ(members.size(), 2u);
    EXPECT_EQ(members[0].name, "t/x/a.txt");
    EXPECT_EQ(members[0].bytes, "hello");
    EXPECT_EQ(members[1].bytes, std::string(600, 'b'));
  }
  EXPECT_EQ(unpack("g.gz", gzip("one") + gzip("two"))[0].bytes, "onetwo");
  EXPECT_FALSE(is_packed("{}"));
}

TEST(Archive, TheLargestGraphIsTakenAndTheOthersAreNamed) {
  const auto dot = [](const char* nodes) { return fmt::format("digraph {{ {} }}", nodes); };
  const std::string tar = tar_member("rank0.dot", dot("a [flops=1]")) +
                          tar_member("LICENSE", std::string(5000, 'x')) +
                          tar_member("rank1.dot", dot("a [flops=1]; b [flops=1]; c [flops=1]")) +
                          std::string(1024, '\0');
  const GraphFile file = unpack_graph("t.tar.gz", gzip(tar));
  EXPECT_EQ(file.name, "t.tar.gz/rank1.dot");
  EXPECT_EQ(parse(file.name, file.bytes).graph.node_count(), 3u);
  EXPECT_THAT(file.notes,
              ElementsAre("t.tar.gz/rank1.dot is the largest graph in the archive and was "
                          "taken; left out: t.tar.gz/LICENSE, t.tar.gz/rank0.dot"));
  EXPECT_TRUE(unpack_graph("g.gz", gzip(dot("a [flops=1]"))).notes.empty());
}

// In a compiler's dump, the larger file can be a form of the program that is recognised but not
// read.
TEST(Archive, WhatIsReadComesBeforeWhatIsRefused) {
  const std::string mlir =
      "module @jit_f {\n" + std::string(4000, ' ') + "\n %0 = stablehlo.add %a, %b : f32\n}\n";
  const std::string hlo =
      "HloModule m\nENTRY e {\n  x = f32[8]{0} parameter(0)\n  ROOT y = f32[8]{0} "
      "exponential(x)\n}\n";
  const std::string tar =
      tar_member("f.mlir", mlir) + tar_member("f.txt", hlo) + std::string(1024, '\0');
  EXPECT_EQ(unpack_graph("d.tar", tar).name, "d.tar/f.txt");
  EXPECT_EQ(unpack_graph("d.tar", tar_member("f.mlir", mlir) + std::string(1024, '\0')).name,
            "d.tar/f.mlir");
}

TEST(Archive, RefusesWhatIsDamagedOrMadeToFillTheMemory) {
  const std::string packed = gzip(std::string(10'000, 'x'));
  EXPECT_THAT(error_of([&] { unpack("g", packed.substr(0, packed.size() - 12)); }),
              HasSubstr("cut off"));
  std::string broken = packed;
  broken[12] ^= 0x55;
  EXPECT_THAT(error_of([&] { unpack("g", broken); }), HasSubstr("g: "));
  const std::string tar = tar_member("a", std::string(600, 'b'));
  EXPECT_THAT(error_of([&] { unpack("g", tar.substr(0, 700)); }), HasSubstr("cut off"));
  // 70 MB of zeros pack 1000 times.
  EXPECT_THAT(error_of([&] { unpack("g", gzip(std::string(70'000'000, '\0'))); }),
              HasSubstr("unpacks to more than 64"));
}

}  // namespace
}  // namespace doppler::formats
