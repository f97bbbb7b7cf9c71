#include "doppler/graph/graph_json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/graph/builder.h"
#include "support/errors.h"

namespace doppler::graph {
namespace {

using test::error_of;
using testing::EndsWith;
using testing::HasSubstr;

// Everything that the format can hold, each key at least once.
constexpr std::string_view kComplete = R"({
  "format": "doppler.graph", "version": 2, "name": "demo", "time_unit": "ms",
  "nodes": [
    {"name": "mul", "op": "gemm", "scope": "net/layer_0", "time": 2.5, "times": {"A100": 1, "cpu": 20}, "flops": 2e9,
     "bytes_read": 300, "bytes_written": 100,
     "work": [{"class": "product", "type": "bf16", "batch": 2, "rows": 3, "columns": 4, "depth": 5},
              {"flops": 7, "bytes_read": 8, "bytes_written": 9, "count": 10}], "meta_op": "product", "meta_role": "shard",
     "kernel": {"name": "matmul", "attributes": {"transpose": "b"}, "inputs": [[2, 3], [4, 3]],
                "outputs": [[2, 4]]},
     "inputs": ["x", {"tensor": "w", "transfer_time": 0.5}, "x"], "outputs": ["y", "z"]},
    {"outputs": ["w2"], "inputs": ["y", "w"], "meta_op": "product", "meta_role": "reduction",
     "name": "step"}],
  "tensors": [
    {"name": "x", "role": "input", "bytes": 24, "type": "f32"},
    {"name": "w2", "updates": "w", "output": true},
    {"name": "w", "role": "parameter", "bytes": 48, "home": "gpu0", "transfer_time": 3},
    {"name": "y", "bytes": 32}, {"name": "z"}],
  "constraints": {"pin": [{"node": "mul", "device": "gpu0"}],
                  "forbid": [{"node": "step", "device": "gpu1"}],
                  "colocate": [["mul", "step"]], "memory": {"gpu0": 123, "gpu1": 18446744073709551615}}
})";

// A valid file around these nodes and tensors; both start on a line of their own (2 and 4).
std::string file_with(std::string_view nodes, std::string_view tensors) {
  return fmt::format(
      "{{\"format\": \"doppler.graph\", \"version\": 1, \"nodes\": [\n{}\n], \"tensors\": "
      "[\n{}\n]}}",
      nodes, tensors);
}

std::string error_in(std::string_view text) {
  return error_of([&] { read_graph_json("g.json", text); });
}

TEST(GraphJson, ReadsEverythingInAnyOrder) {
  const Graph graph = read_graph_json("g.json", kComplete);
  EXPECT_EQ(graph.name(), "demo");
  EXPECT_EQ(graph.time_unit(), "ms");
  ASSERT_EQ(graph.node_count(), 2u);
  ASSERT_EQ(graph.tensor_count(), 5u);
  const NodeId mul(0), step(1);
  EXPECT_EQ(graph.node_name(mul), "mul");
  EXPECT_EQ(graph.op_kind(mul), "gemm");
  EXPECT_EQ(graph.op_kind(step), "op");
  EXPECT_EQ(graph.scope(mul), "net/layer_0");
  EXPECT_EQ(graph.scope(step), "");
  EXPECT_EQ(graph.given_time(mul), 2.5);
  EXPECT_FALSE(graph.given_time(step));
  ASSERT_EQ(graph.times_by_kind(mul).size(), 2u);
  EXPECT_EQ(graph.time_kind_names()[graph.times_by_kind(mul)[1].kind], "cpu");
  EXPECT_EQ(graph.times_by_kind(mul)[1].time, 20.0);
  EXPECT_EQ(graph.flops(mul), 2e9);
  EXPECT_EQ(graph.bytes_read(mul), 300.0);
  EXPECT_EQ(graph.bytes_written(mul), 100.0);
  ASSERT_EQ(graph.works(mul).size(), 2u);
  EXPECT_EQ(graph.works(mul)[0], (kernel::Work{.work_class = kernel::WorkClass::kProduct,
                                               .type = ElementType::kBf16,
                                               .batch = 2.0,
                                               .rows = 3.0,
                                               .columns = 4.0,
                                               .depth = 5.0}));
  EXPECT_EQ(graph.works(mul)[1],
            (kernel::Work{.count = 10.0, .flops = 7.0, .bytes_read = 8.0, .bytes_written = 9.0}));
  EXPECT_TRUE(graph.works(step).empty());
  EXPECT_EQ(graph.element_type(TensorId(0)), ElementType::kF32);
  EXPECT_FALSE(graph.element_type(TensorId(3)));
  EXPECT_EQ(graph.meta_op(step)->role, MetaRole::kReduction);
  EXPECT_EQ(*graph.kernel_call(mul),
            (kernel::KernelCall{"matmul", {{"transpose", "b"}}, {{2, 3}, {4, 3}}, {{2, 4}}}));
  // Ids follow the list of tensors: x 0, w2 1, w 2, y 3, z 4.
  const TensorId x(0), w2(1), w(2), y(3), z(4);
  EXPECT_THAT(graph.inputs(mul), testing::ElementsAre(x, w, x));
  EXPECT_THAT(graph.outputs(mul), testing::ElementsAre(y, z));
  EXPECT_EQ(graph.role(x), TensorRole::kInput);
  EXPECT_EQ(graph.role(w), TensorRole::kParameter);
  EXPECT_EQ(graph.home(w), "gpu0");
  EXPECT_EQ(graph.updates(w2), w);
  EXPECT_TRUE(graph.is_output(w2));
  EXPECT_EQ(graph.transfer_time(w, 0), 0.5);  // mul's own
  EXPECT_EQ(graph.transfer_time(w, 1), 3.0);  // the tensor's
  EXPECT_EQ(graph.edge_count(), 1u);          // y -> step; x and w have no producer
  const Constraints& constraints = graph.constraints();
  EXPECT_EQ(constraints.pins.at(0).node, mul);
  EXPECT_EQ(constraints.forbids.at(0).device, "gpu1");
  EXPECT_THAT(constraints.colocated.at(0), testing::ElementsAre(mul, step));
  EXPECT_EQ(constraints.memory.at(1).bytes, ~std::uint64_t{0});
}

TEST(GraphJson, WritingAndReadingBackLosesNothing) {
  const Graph graph = read_graph_json("g.json", kComplete);
  const std::string written = write_graph_json(graph);
  const Graph again = read_graph_json("h.json", written);
  EXPECT_EQ(again.hash(), graph.hash());
  EXPECT_EQ(write_graph_json(again),
            written);  // also what the hash leaves out: names, scopes, kernel calls
}

TEST(GraphJson, ScopesAreForPeopleAlone) {
  const auto graph_of = [](const char* nodes) {
    return read_graph_json("g.json", file_with(nodes, ""));
  };
  const Graph without = graph_of(R"({"name": "a"}, {"name": "b"}, {"name": "c"})");
  const Graph with = graph_of(R"({"name": "a"}, {"name": "b", "scope": "s"}, {"name": "c"})");
  EXPECT_EQ(with.hash(), without.hash());
  EXPECT_EQ(with.scope(NodeId(0)), "");
  EXPECT_EQ(with.scope(NodeId(1)), "s");
  EXPECT_EQ(with.scope(NodeId(2)), "");
  EXPECT_EQ(without.scope(NodeId(1)), "");
}

// Kernels tell results apart by their order, which need not be that of the tensors.
TEST(GraphJson, IsOfTheFirstVersionWhereOlderProgramsCanReadIt) {
  GraphBuilder builder;
  builder.add_node({.name = "a", .time = 1.0});
  EXPECT_THAT(write_graph_json(std::move(builder).build()), HasSubstr("\"version\": 1"));
  GraphBuilder typed;
  typed.add_output(typed.add_node({.name = "a", .works = {{.rows = 2.0}}}), 8.0);
  EXPECT_THAT(write_graph_json(std::move(typed).build()), HasSubstr("\"version\": 2"));
}

TEST(GraphJson, RefusesWorksThatAreNone) {
  const auto error = [](std::string_view work) {
    return error_in(file_with(fmt::format(R"({{"name": "a", "work": [{}]}})", work), ""));
  };
  EXPECT_THAT(error(R"({"class": "magic"})"), EndsWith("no class of work is called 'magic'"));
  EXPECT_THAT(error(R"({"type": "f17"})"), HasSubstr("no element type 'f17'; there are f64, f32"));
  EXPECT_THAT(error(R"({"rows": 1e31})"),
              EndsWith("node 'a': the rows of its work must be from 0 to 1e+30"));
  EXPECT_THAT(error(R"({"count": 0})"),
              EndsWith("node 'a': the count and batch of its work must be at least 1"));
}

TEST(GraphJson, KeepsTheOrderOfOutputs) {
  const Graph graph =
      read_graph_json("g.json", file_with(R"({"name": "n", "outputs": ["c", "a", "b"]})",
                                          R"({"name": "a"}, {"name": "b"}, {"name": "c"})"));
  EXPECT_THAT(graph.outputs(NodeId(0)),
              testing::ElementsAre(TensorId(2), TensorId(0), TensorId(1)));
  const Graph again = read_graph_json("g.json", write_graph_json(graph));
  EXPECT_THAT(again.outputs(NodeId(0)),
              testing::ElementsAre(TensorId(2), TensorId(0), TensorId(1)));
}

TEST(GraphJson, WritesOneNodeOnEachLine) {
  GraphBuilder builder;
  const NodeId a = builder.add_node({.name = "a", .time = 1.0});
  const TensorId t = builder.add_output(a, 8.0, 0.1);
  builder.connect(t, builder.add_node({.name = "say \"b\"\n", .time = 2.0}));
  EXPECT_EQ(write_graph_json(std::move(builder).build()),
            R"({
 "format": "doppler.graph",
 "version": 1,
 "time_unit": "s",
 "tensors": [
  {"name": "a", "bytes": 8, "transfer_time": 0.1}
 ],
 "nodes": [
  {"name": "a", "op": "op", "time": 1, "inputs": [], "outputs": ["a"]},
  {"name": "say \"b\"\n", "op": "op", "time": 2, "inputs": ["a"], "outputs": []}
 ]
}
)");
}

TEST(GraphJson, NamesANamelessGraphAfterItsFile) {
  EXPECT_EQ(read_graph_json("some/dir/net.v2.json", file_with("", "")).name(), "net.v2");
}

TEST(GraphJson, RefusesWhatIsNotAGraphFile) {
  EXPECT_EQ(error_in("[1]"), "g.json:1:1: not a doppler.graph file: it is not a JSON object");
  EXPECT_EQ(error_in("{\"tasks\": 3}"),
            "g.json:1:1: not a doppler.graph file: the key 'format' is missing");
  EXPECT_EQ(error_in("{\"format\": \"doppler.placement\"}"),
            "g.json:1:2: not a doppler.graph file: \"format\" is not \"doppler.graph\"");
  EXPECT_EQ(error_in("{\"format\": \"doppler.graph\"}"),
            "g.json:1:1: not a doppler.graph file: the key 'version' is missing");
  EXPECT_EQ(error_in("{\"format\": \"doppler.graph\", \"version\": 1}"),
            "g.json:1:1: the key 'nodes' is missing");
  EXPECT_EQ(error_in("digraph { a -> b }"), "g.json:1:1: not a JSON value");
}

TEST(GraphJson, RefusesOtherVersions) {
  // What an unknown version brings is not judged.
  EXPECT_EQ(error_in("{\"format\": \"doppler.graph\", \"new\": 1, \"version\": 3}"),
            "g.json:1:50: version 3 is newer than this program reads (2)");
  EXPECT_THAT(error_in("{\"format\": \"doppler.graph\", \"version\": 0}"),
              EndsWith("there is no version 0"));
  EXPECT_THAT(error_in("{\"format\": \"doppler.graph\", \"version\": \"1\"}"),
              EndsWith("expected a number, found a string"));
}

TEST(GraphJson, RefusesUnknownAndRepeatedKeys) {
  EXPECT_THAT(error_in(file_with(R"({"name": "a", "tmie": 1})", "")),
              testing::StartsWith("g.json:2:15: unknown key 'tmie' (known: name, op, time, "));
  EXPECT_EQ(error_in(file_with(R"({"name": "a", "time": 1, "time": 2})", "")),
            "g.json:2:26: the key 'time' stands twice");
  EXPECT_EQ(error_in("{\"format\": \"doppler.graph\", \"version\": 1, \"node\": []}"),
            "g.json:1:43: unknown key 'node'");
  EXPECT_EQ(
      error_in("{\"format\": \"doppler.graph\", \"version\": 1, \"nodes\": [], \"nodes\": []}"),
      "g.json:1:56: the key 'nodes' stands twice");
}

TEST(GraphJson, RefusesNamesThatDoNotFit) {
  EXPECT_EQ(error_in(file_with(R"({"name": "a", "inputs": ["t"]})", "")),
            "g.json:2:26: unknown tensor 't'");
  EXPECT_EQ(error_in(file_with(R"({"name": "a"}, {"name": "a"})", "")),
            "g.json:2:25: two nodes are named 'a'");
  EXPECT_EQ(error_in(file_with("", "{\"name\": \"t\", \"role\": \"input\"},\n{\"name\": \"t\"}")),
            "g.json:5:10: two tensors are named 't'");
  EXPECT_EQ(error_in(file_with("{}", "")), "g.json:2:1: the key 'name' is missing");
  EXPECT_EQ(error_in(file_with(R"({"name": ""})", "")), "g.json:2:10: must not be empty");
  EXPECT_THAT(error_in(file_with(R"({"name": "a"})", R"({"name": "t"})")),
              testing::StartsWith("g.json:4:1: tensor 't' has no producer"));
  EXPECT_EQ(error_in(file_with("{\"name\": \"a\", \"outputs\": [\"t\"]},\n"
                               "{\"name\": \"b\", \"outputs\": [\"t\"]}",
                               R"({"name": "t"})")),
            "g.json:3:26: tensor 't' is produced by both 'a' and 'b'");
  EXPECT_EQ(error_in(file_with("", R"({"name": "t", "role": "parameter", "updates": "u"})")),
            "g.json:4:47: unknown tensor 'u'");
  EXPECT_EQ(error_in(file_with("", R"({"name": "t", "role": "parameter", "updates": "t"})")),
            "g.json:4:47: tensor 't': a produced value can update a parameter only");
  EXPECT_EQ(error_in(file_with(R"({"name": "a", "meta_role": "shard"})", "")),
            "g.json:2:1: the key 'meta_op' is missing");
}

TEST(GraphJson, ErrorsAreOneLineWhateverAName) {
  EXPECT_EQ(error_in(file_with(R"({"name": "a", "inputs": ["t\nu"]})", "")),
            "g.json:2:26: unknown tensor 't?u'");
}

TEST(GraphJson, RefusesBadConstraints) {
  const auto with = [](std::string_view constraints) {
    return error_in(
        fmt::format("{{\"format\": \"doppler.graph\", \"version\": 1, \"constraints\":\n"
                    "{},\n\"nodes\": [{{\"name\": \"a\"}}]}}",
                    constraints));
  };
  EXPECT_EQ(with(R"({"pin": [{"node": "a", "device": "gpu0"}]})"), "no error");
  EXPECT_EQ(with(R"({"pin": [{"node": "b", "device": "gpu0"}]})"), "g.json:2:19: unknown node 'b'");
  EXPECT_EQ(with(R"({"pin": [{"node": "a"}]})"), "g.json:2:10: the key 'device' is missing");
  EXPECT_EQ(with(R"({"colocate": [["a", "c"]]})"), "g.json:2:21: unknown node 'c'");
  EXPECT_EQ(with(R"({"memory": {"gpu0": 1, "gpu0": 2}})"),
            "g.json:2:24: the device 'gpu0' stands twice");
  EXPECT_THAT(with(R"({"memory": {"gpu0": -1}})"), HasSubstr("expected an integer"));
}

TEST(GraphJson, RefusesCostsThatAreNoCosts) {
  for (const char* key : {"time", "flops", "bytes_read", "bytes_written"}) {
    EXPECT_THAT(error_in(file_with(fmt::format(R"({{"name": "a", "{}": -1}})", key), "")),
                EndsWith(": must not be negative"));
    EXPECT_THAT(error_in(file_with(fmt::format(R"({{"name": "a", "{}": NaN}})", key), "")),
                HasSubstr("not a JSON value"));
    EXPECT_THAT(error_in(file_with(fmt::format(R"({{"name": "a", "{}": 1e999}})", key), "")),
                EndsWith("the number is too large"));
    EXPECT_THAT(error_in(file_with(fmt::format(R"({{"name": "a", "{}": "1"}})", key), "")),
                EndsWith("expected a number, found a string"));
  }
  EXPECT_EQ(error_in(file_with(R"({"name": "a", "times": {"A100": -2}})", "")),
            "g.json:2:33: must not be negative");
  EXPECT_EQ(error_in(file_with(R"({"name": "a", "inputs": [{"tensor": "t", "transfer_time": -1}]})",
                               R"({"name": "t", "role": "input"})")),
            "g.json:2:59: must not be negative");
  EXPECT_EQ(error_in(file_with("", R"({"name": "t", "bytes": -1})")),
            "g.json:4:24: must not be negative");
}

TEST(GraphJson, PointsAtANodeOfACycle) {
  EXPECT_EQ(
      error_in(file_with("{\"name\": \"s\", \"outputs\": [\"s\"]},\n"
                         "{\"name\": \"a\", \"inputs\": [\"s\", \"b\"], \"outputs\": [\"a\"]},\n"
                         "{\"name\": \"b\", \"inputs\": [\"a\"], \"outputs\": [\"b\"]}",
                         R"({"name": "a"}, {"name": "b"}, {"name": "s"})")),
      "g.json:3:1: node 'a' depends on itself (a cycle)");
}

// b reads what a reads and computes; only b varies.
std::string file_with_call(const std::string& b) {
  return file_with(
      R"({"name": "a", "kernel": {"name": "relu", "inputs": [[2, 3]], "outputs": [[2, 3]]},)"
      R"( "inputs": ["x"], "outputs": ["y"]},)"
      "\n" +
          b,
      R"({"name": "x", "role": "input"}, {"name": "y"}, {"name": "z"})");
}

TEST(GraphJson, KernelCallsMustBeWellFormedAndFit) {
  const auto call = [](const std::string& kernel, const std::string& inputs = R"(["y", "x"])") {
    return file_with_call(R"({"name": "b", "kernel": )" + kernel + R"(, "inputs": )" + inputs +
                          R"(, "outputs": ["z"]})");
  };
  const auto contract = [&](const std::string& spec, const std::string& shapes) {
    return call(R"({"name": "contract", "attributes": {"spec": ")" + spec + R"("}, )" + shapes +
                "}");
  };
  const std::string shapes = R"("inputs": [[2, 3], [2, 3]], "outputs": [[3, 3]])";
  EXPECT_EQ(error_in(contract("ka,kb->ab", shapes)), "no error");
  EXPECT_THAT(error_in(contract("rubbish", shapes)),
              testing::StartsWith("g.json:3:1: node 'b': kernel contract {spec=rubbish} of "));
  EXPECT_THAT(error_in(contract("ak,bk->ab", shapes)), HasSubstr("gives [2,2], not [3,3]"));
  EXPECT_THAT(error_in(contract("ka,kb->ab", R"("inputs": [[2, 3]], "outputs": [[3, 3]])")),
              HasSubstr("takes 2 inputs, not 1"));
  EXPECT_EQ(error_in(contract("ka,kb->ab", R"("inputs": [[4, 3], [4, 3]], "outputs": [[3, 3]])")),
            "g.json:3:1: node 'b': takes tensor 'y' as [4,3], but another call has it as [2,3]");
  EXPECT_EQ(error_in(call(R"({"name": "exp", "inputs": [[2, 3]], "outputs": [[2, 3]]})")),
            "g.json:3:1: node 'b': its kernel call has 1 inputs, but the node has 2");
  EXPECT_THAT(
      error_in(call(R"({"name": "add", "attributes": {"speck": "a,a->a"}, )" + shapes + "}")),
      HasSubstr("there is no attribute 'speck'"));
  // What is not ours is not judged.
  EXPECT_EQ(error_in(call(R"({"name": "conv", "attributes": {"spec": "?"}, "inputs": [[1]]})")),
            "no error");
}

TEST(GraphJson, RefusesDeepNesting) {
  const std::string deep(100000, '[');
  EXPECT_THAT(error_in(file_with(R"({"name": "a", "kernel": )" + deep, "")),
              HasSubstr("nested deeper than 64 levels"));
}

TEST(GraphJson, EveryTruncationIsAnError) {
  for (std::size_t length = 0; length < kComplete.size(); ++length) {
    const std::string error = error_in(kComplete.substr(0, length));
    EXPECT_THAT(error, testing::StartsWith("g.json:")) << "after " << length << " bytes";
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST(GraphJson, EveryDamagedByteIsAnErrorOrAnotherGraph) {
  for (std::size_t at = 0; at < kComplete.size(); ++at) {
    for (const char damage : {'\0', '"', '}', ']', '9', '-', '\x80'}) {
      std::string text(kComplete);
      text[at] = damage;
      error_in(text);  // anything but InputError ends the test
    }
  }
}

}  // namespace
}  // namespace doppler::graph
