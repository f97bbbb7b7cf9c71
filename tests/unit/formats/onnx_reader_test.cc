#include "doppler/formats/onnx/onnx_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/onnx_read.h"

namespace doppler::formats {
namespace {

using namespace test::onnx;
using test::onnx::node;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A decoder with and one without its cache, merged: one node would leave nothing to place.
TEST(OnnxReader, BranchesThatAreNearlyAllReplaceTheirIf) {
  const std::string whole =
      body({.nodes = {node("MatMul", {"x", "w"}, {"a"}), node("Identity", {"a"}, {"i"}),
                      node("Relu", {"i"}, {"b"}), node("Exp", {"b"}, {"t"})},
            .outputs = {value("t", kFloat, {})}});
  const std::string little =
      body({.nodes = {node("Identity", {"x"}, {"j"}), node("Neg", {"j"}, {"e"})},
            .outputs = {value("e", kFloat, {})}});
  const OnnxImported read_model = read_onnx_nodes(
      "m.onnx",
      model({.nodes = {node("If", {"c"}, {"y"},
                            {graph_attribute("then_branch", whole),
                             graph_attribute("else_branch", little)}),
                       node("Reshape", {"y", "k"}, {"r"}), node("Relu", {"r"}, {"z"})},
             .initializers = {tensor("w", kFloat, {80, 80}), int64s("k", {6400})},
             .inputs = {value("x", kFloat, {"80", "80"}), value("c", kBool, {})},
             .outputs = {value("z", kFloat, {})}}),
      {});
  const graph::Graph& graph = read_model.imported.graph;
  EXPECT_THAT(names(graph), ElementsAre("n_a", "n_b", "n_t", "n_z"));
  EXPECT_EQ(graph.edge_count(), 3u);
  // The If itself is on no one device; what passes its result on is where that is made.
  EXPECT_THAT(read_model.node_of, ElementsAre(NodeId{}, find(graph, "n_t"), find(graph, "n_z")));
  // The notes on the branch that is taken appear once, and none on the other.
  EXPECT_THAT(read_model.imported.notes, Contains(HasSubstr("2 nodes that only rename")));
}

TEST(OnnxReader, BranchesAreOneNode) {
  const auto branch = [](std::string_view op, std::string_view result) {
    return body({.nodes = {node(op, {"x", "w"}, {std::string(result)})},
                 .outputs = {value(result, kFloat, {})}});
  };
  GraphParts parts{.nodes = {node("If", {"c"}, {"y"},
                                  {graph_attribute("then_branch", branch("MatMul", "a")),
                                   graph_attribute("else_branch", branch("Add", "b"))}),
                             node("Relu", {"y"}, {"z"})},
                   .initializers = {tensor("w", kFloat, {80, 80})},
                   .inputs = {value("x", kFloat, {"80", "80"}), value("c", kBool, {})},
                   .outputs = {value("z", kFloat, {})}};
  const graph::Graph graph = read(model(parts)).graph;
  EXPECT_THAT(names(graph), ElementsAre("n_y", "n_z"));
  EXPECT_EQ(graph.op_kind(NodeId(0)), "If");
  EXPECT_EQ(graph.flops(NodeId(0)), 2.0 * 80 * 80 * 80);  // the dearer branch
  EXPECT_EQ(result_bytes(graph, "n_y"), 4.0 * 6400);
  // It reads the condition and what its branches read from outside.
  std::vector<std::string> read_tensors;
  for (const TensorId tensor : graph.inputs(NodeId(0))) {
    read_tensors.emplace_back(graph.tensor_name(tensor));
  }
  EXPECT_THAT(read_tensors, Contains("x"));
  EXPECT_THAT(read_tensors, Contains("w"));
  // A condition that is known takes one branch.
  parts.inputs.pop_back();
  parts.initializers.push_back(tensor("c", kInt64, {}, {0}));
  EXPECT_EQ(read(model(parts)).graph.flops(NodeId(0)), 6400.0);
}

TEST(OnnxReader, LoopsCountTheirRounds) {
  const std::string rounds =
      body({.nodes = {node("MatMul", {"s", "w"}, {"t"}), node("Identity", {"go"}, {"on"}),
                      node("Relu", {"t"}, {"out"})},
            .inputs = {value("i", kInt64, {}), value("go", kBool, {}), value("s", kFloat, {})},
            .outputs = {value("on", kBool, {}), value("t", kFloat, {}), value("out", kFloat, {})}});
  GraphParts parts{
      .nodes = {node("Loop", {"n", "", "x"}, {"y", "all"}, {graph_attribute("body", rounds)})},
      .initializers = {tensor("n", kInt64, {}, {5}), tensor("w", kFloat, {10, 10})},
      .inputs = {value("x", kFloat, {"10", "10"})},
      .outputs = {value("y", kFloat, {}), value("all", kFloat, {})}};
  const Imported imported = read(model(parts));
  EXPECT_EQ(imported.graph.flops(NodeId(0)), 5.0 * (2 * 1000 + 100));
  EXPECT_EQ(result_bytes(imported.graph, "n_y", 1), 4.0 * 5 * 100);
  parts.initializers[0] = tensor("other", kInt64, {}, {5});
  parts.inputs.push_back(value("n", kInt64, {}));
  EXPECT_THAT(read(model(parts)).notes, Contains(HasSubstr("1 loops whose number of rounds")));
}

TEST(OnnxReader, FunctionsAreOneNode) {
  const std::string function = bytes(1, "Twice") + bytes(4, "a") + bytes(5, "c") +
                               bytes(7, node("Add", {"a", "a"}, {"b"})) +
                               bytes(7, node("Add", {"b", "a"}, {"c"})) + bytes(10, "my.ops");
  const graph::Graph graph = read(model({.nodes = {node("Twice", {"x"}, {"y"}, {}, "my.ops")},
                                         .inputs = {value("x", kFloat, {"50"})},
                                         .outputs = {value("y", kFloat, {})}},
                                        13, {function}))
                                 .graph;
  EXPECT_THAT(names(graph), ElementsAre("n_y"));
  EXPECT_EQ(graph.op_kind(NodeId(0)), "Twice");
  EXPECT_EQ(graph.flops(NodeId(0)), 100.0);
}

// Two rounds: 1 x 8, then 2 x 8, then 3 x 8 go through the product.
TEST(OnnxReader, LoopsMayGrowTheirState) {
  const std::string rounds =
      body({.nodes = {node("MatMul", {"s", "w"}, {"t"}),
                      node("Concat", {"s", "x"}, {"u"}, {attribute("axis", 0)}),
                      node("Identity", {"go"}, {"on"})},
            .inputs = {value("i", kInt64, {}), value("go", kBool, {}), value("s", kFloat, {})},
            .outputs = {value("on", kBool, {}), value("u", kFloat, {})}});
  const graph::Graph graph =
      read(model({.nodes = {node("Loop", {"n", "", "x"}, {"y"}, {graph_attribute("body", rounds)})},
                  .initializers = {tensor("n", kInt64, {}, {2}), tensor("w", kFloat, {8, 8})},
                  .inputs = {value("x", kFloat, {"1", "8"})},
                  .outputs = {value("y", kFloat, {})}}))
          .graph;
  EXPECT_EQ(graph.flops(NodeId(0)), 2.0 * (1 + 2) * 8 * 8);
  EXPECT_EQ(result_bytes(graph, "n_y"), 4.0 * 3 * 8);
}

// However many rounds there are, a constant of the body is there once.
TEST(OnnxReader, ConstantsOfBodiesAreThereOnce) {
  const std::string weights = tensor("", kFloat, {10, 10});
  const std::string rounds =
      body({.nodes = {node("Constant", {}, {"w"}, {tensor_attribute("value", weights)}),
                      node("Transpose", {"w"}, {"v"}), node("MatMul", {"s", "v"}, {"t"}),
                      node("Add", {"t", "b"}, {"u"}), node("Identity", {"go"}, {"on"})},
            .initializers = {tensor("b", kFloat, {10})},
            .inputs = {value("i", kInt64, {}), value("go", kBool, {}), value("s", kFloat, {})},
            .outputs = {value("on", kBool, {}), value("u", kFloat, {})}});
  const Imported imported =
      read(model({.nodes = {node("Loop", {"n", "", "x"}, {"y"}, {graph_attribute("body", rounds)})},
                  .initializers = {tensor("n", kInt64, {}, {5})},
                  .inputs = {value("x", kFloat, {"10", "10"})},
                  .outputs = {value("y", kFloat, {})}}));
  const graph::Graph& graph = imported.graph;
  EXPECT_EQ(graph.flops(NodeId(0)), 5.0 * (2000 + 100));
  double parameters = 0.0;
  for (const TensorId tensor : graph.inputs(NodeId(0))) {
    if (graph.role(tensor) == graph::TensorRole::kParameter)
      parameters += graph.bytes(tensor).value();
  }
  EXPECT_EQ(parameters, 4.0 * (100 + 10));
  // Notes on a body appear once, too.
  EXPECT_THAT(imported.notes, Contains(HasSubstr("3 nodes on constants and shapes alone")));
}

// tensor_split as PyTorch exports it: a loop cuts at its round's place of a table.
TEST(OnnxReader, SequencesOfUnequalTensors) {
  const std::string rounds = body(
      {.nodes = {node("Gather", {"from", "i"}, {"a"}), node("Gather", {"to", "i"}, {"b"}),
                 node("Slice", {"x", "a", "b"}, {"part"}),
                 node("SequenceInsert", {"s", "part"}, {"t"}), node("Identity", {"go"}, {"on"})},
       .inputs = {value("i", kInt64, {}), value("go", kBool, {}), value("s", kFloat, {})},
       .outputs = {value("on", kBool, {}), value("t", kFloat, {})}});
  const Imported imported = read(model(
      {.nodes = {node("SequenceEmpty", {}, {"none"}),
                 node("Loop", {"n", "", "none"}, {"parts"}, {graph_attribute("body", rounds)}),
                 node("SequenceAt", {"parts", "first"}, {"p"}),
                 node("SequenceAt", {"parts", "last"}, {"q"}),
                 node("ConcatFromSequence", {"parts"}, {"all"}, {attribute("axis", 0)}),
                 node("SequenceErase", {"parts"}, {"fewer"}),
                 node("ConcatFromSequence", {"fewer"}, {"some"},
                      {attribute("axis", 0), attribute("new_axis", 1)})},
       .initializers = {tensor("n", kInt64, {}, {2}), tensor("from", kInt64, {2, 1}, {0, 1}),
                        tensor("to", kInt64, {2, 1}, {1, 100}), tensor("first", kInt64, {}, {0}),
                        tensor("last", kInt64, {}, {-1})},
       .inputs = {value("x", kFloat, {"12", "3"})},
       .outputs = {value("p", kFloat, {}), value("q", kFloat, {}), value("all", kFloat, {}),
                   value("some", kFloat, {})}}));
  const graph::Graph& graph = imported.graph;
  EXPECT_EQ(result_bytes(graph, "n_parts"), 4.0 * 12 * 3);
  EXPECT_EQ(result_bytes(graph, "n_p"), 4.0 * 1 * 3);
  EXPECT_EQ(result_bytes(graph, "n_q"), 4.0 * 11 * 3);
  EXPECT_EQ(result_bytes(graph, "n_all"), 4.0 * 12 * 3);
  EXPECT_EQ(result_bytes(graph, "n_some"), 4.0 * 1 * 1 * 3);
  EXPECT_THAT(imported.notes, Not(Contains(HasSubstr("depend on the data"))));
}

TEST(OnnxReader, SequencesOfParts) {
  const Imported imported =
      read(model({.nodes = {node("SplitToSequence", {"x", "four"}, {"parts"}),
                            node("SequenceAt", {"parts", "two"}, {"rest"}),
                            node("SequenceLength", {"parts"}, {"n"}),
                            node("Reshape", {"n", "one"}, {"m"}), node("Expand", {"x", "m"}, {"y"}),
                            node("SequenceConstruct", {"x", "rest"}, {"both"}),
                            node("ConcatFromSequence", {"both"}, {"z"}, {attribute("axis", 0)})},
                  .initializers = {tensor("four", kInt64, {}, {4}), tensor("two", kInt64, {}, {2}),
                                   int64s("one", {1})},
                  .inputs = {value("x", kFloat, {"10", "1"})},
                  .outputs = {value("y", kFloat, {}), value("z", kFloat, {})}}));
  EXPECT_EQ(result_bytes(imported.graph, "n_rest"), 4.0 * 2);  // 4, 4 and 2 of 10
  EXPECT_EQ(result_bytes(imported.graph, "n_y"), 4.0 * 10 * 3);
  EXPECT_EQ(result_bytes(imported.graph, "n_z"), 4.0 * 12);
}

// Rounds go along other dimensions than the first.
TEST(OnnxReader, ScansAlongAnyDimension) {
  const std::string rounds =
      body({.nodes = {node("Add", {"s", "e"}, {"t"}), node("Neg", {"t"}, {"o"})},
            .inputs = {value("s", kFloat, {}), value("e", kFloat, {})},
            .outputs = {value("t", kFloat, {}), value("o", kFloat, {})}});
  const graph::Graph graph =
      read(model({.nodes = {node("Scan", {"a", "x"}, {"b", "y"},
                                 {graph_attribute("body", rounds), attribute("num_scan_inputs", 1),
                                  attribute("scan_input_axes", Sizes{1})})},
                  .inputs = {value("a", kFloat, {"4"}), value("x", kFloat, {"4", "9"})},
                  .outputs = {value("b", kFloat, {}), value("y", kFloat, {})}}))
          .graph;
  EXPECT_EQ(graph.flops(NodeId(0)), 9.0 * (4 + 4));
  EXPECT_EQ(result_bytes(graph, "n_b", 1), 4.0 * 9 * 4);
}

std::string function(std::string_view name, const Names& inputs, std::string_view output,
                     const std::vector<std::string>& nodes) {
  std::string out = bytes(1, name) + bytes(5, output) + bytes(10, "my.ops");
  for (const std::string& input : inputs) out += bytes(4, input);
  for (const std::string& entry : nodes) out += bytes(7, entry);
  return out;
}
// An attribute of a function's node that is the function's own.
std::string reference(std::string_view name, std::string_view to) {
  return bytes(1, name) + bytes(21, to) + integer(20, 7);
}

// Parts of the model that exporters made functions: as one node they would leave nothing to place.
TEST(OnnxReader, FunctionsOfFunctionsAreTheirNodes) {
  const std::string linear =
      function("Linear", {"a", "w", "bias"}, "c",
               {node("MatMul", {"a", "w"}, {"b"}), node("Relu", {"b"}, {"c"})});
  const std::string block =
      function("Block", {"a", "w"}, "c",
               {node("Linear", {"a", "w"}, {"b"}, {}, "my.ops"), node("Add", {"a", "b"}, {"c"})});
  const OnnxImported read_model = read_onnx_nodes(
      "m.onnx",
      model({.nodes = {node("Block", {"x", "w"}, {"y"}, {}, "my.ops"),
                       node("Block", {"y", "w"}, {"z"}, {}, "my.ops"), node("Neg", {"z"}, {"u"})},
             .initializers = {tensor("w", kFloat, {50, 50})},
             .inputs = {value("x", kFloat, {"2", "50"})},
             .outputs = {value("u", kFloat, {})}},
            13, {linear, block}),
      {});
  const graph::Graph& graph = read_model.imported.graph;
  EXPECT_THAT(names(graph), ElementsAre("n_b", "n_c", "n_b.1", "n_c.1", "n_u"));
  EXPECT_EQ(graph.op_kind(NodeId(0)), "Linear");
  EXPECT_EQ(graph.flops(NodeId(0)), 2.0 * 2 * 50 * 50 + 2 * 50);
  EXPECT_THAT(read_model.node_of, ElementsAre(NodeId{}, NodeId{}, find(graph, "n_u")));
}

// A function's attribute may come from the function around, or be left out for its default; an
// input that the call leaves out is one that the node inside leaves out.
TEST(OnnxReader, AttributesAndInputsOfFunctions) {
  const std::string inner =
      function("Inner", {"a", "low"}, "d",
               {node("Clip", {"a", "low"}, {"b"}),
                node("Transpose", {"b"}, {"c"}, {reference("perm", "order")}),
                node("ReduceSum", {"c", "axes"}, {"d"}),
                node("Constant", {}, {"axes"}, {reference("value_ints", "sums")})}) +
      bytes(11, attribute("sums", Sizes{0}));
  const std::string outer = function(
      "Outer", {"a"}, "b", {node("Inner", {"a"}, {"b"}, {reference("order", "turn")}, "my.ops")});
  const graph::Graph graph =
      read(model({.nodes = {node("Outer", {"x"}, {"y"}, {attribute("turn", Sizes{1, 0})}, "my.ops"),
                            node("Inner", {"x"}, {"z"},
                                 {attribute("order", Sizes{0, 1}), attribute("sums", Sizes{1})},
                                 "my.ops")},
                  .inputs = {value("x", kFloat, {"3", "5"})},
                  .outputs = {value("y", kFloat, {}), value("z", kFloat, {})}},
                 13, {inner, outer}))
          .graph;
  EXPECT_EQ(result_bytes(graph, "n_b"), 4.0 * 3);  // 5 x 3, summed over the first
  EXPECT_EQ(result_bytes(graph, "n_z"), 4.0 * 3);  // 3 x 5, summed over the second
}

// Of one name and domain, told apart by a third one.
TEST(OnnxReader, FunctionsMayBeOverloaded) {
  const auto overload = [](std::string_view op, std::string_view name) {
    return function("F", {"a"}, "b", {node(op, {"a"}, {"b"})}) + bytes(13, name);
  };
  const graph::Graph graph =
      read(model({.nodes = {node("F", {"x"}, {"y"}, {}, "my.ops") + bytes(8, "exact")},
                  .inputs = {value("x", kFloat, {"10"})},
                  .outputs = {value("y", kFloat, {})}},
                 13, {overload("Relu", ""), overload("Gelu", "exact")}))
          .graph;
  EXPECT_EQ(graph.flops(NodeId(0)), 80.0);
}

}  // namespace
}  // namespace doppler::formats
