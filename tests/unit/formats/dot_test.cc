#include "doppler/formats/dot/dot.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/graph/builder.h"
#include "doppler/graph/generate/random.h"
#include "support/errors.h"

namespace doppler::formats {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

graph::Graph dot_graph(std::string_view text) {
  return read_dot("g.dot", text).graph;
}
std::string dot_error(std::string_view text) {
  return error_of([&] { dot_graph(text); });
}

// "a->b" for every edge, by producer and then consumer.
std::vector<std::string> edges_of(const graph::Graph& graph) {
  std::vector<std::string> edges;
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    for (const NodeId consumer : graph.consumers(tensor)) {
      edges.push_back(fmt::format("{}->{}", graph.node_name(graph.producer(tensor)),
                                  graph.node_name(consumer)));
    }
  }
  return edges;
}

TEST(Dot, ReadsNodesEdgesAndAttributes) {
  const graph::Graph graph = dot_graph(R"(
    // a comment
    /* another */ strict DiGraph "my net" {
# and a third
      time_unit = ms; rankdir=LR
      graph [color=red];
      node [shape=box, op="gemm" time=2];
      a [weight=3, flops=1e9; bytes_read="12" bytes_written=.5][color=blue]
      b; "c d" [label="MatMul", op=relu, cost="1.5"]
      node [op=add]
      a -> b:port:nw -> "c d" [time=0.25, bytes=100, label=x];
      e
    })");
  EXPECT_EQ(graph.name(), "my net");
  EXPECT_EQ(graph.time_unit(), "ms");
  ASSERT_EQ(graph.node_count(), 4u);
  const NodeId a(0), b(1), c(2), e(3);
  EXPECT_EQ(graph.node_name(c), "c d");
  EXPECT_EQ(graph.op_kind(a), "gemm");
  EXPECT_EQ(graph.op_kind(c), "relu");
  EXPECT_EQ(graph.op_kind(e), "add");
  EXPECT_EQ(graph.given_time(a), 3.0);  // its own weight, not the default time
  EXPECT_EQ(graph.given_time(b), 2.0);
  EXPECT_EQ(graph.given_time(c), 1.5);
  EXPECT_EQ(graph.flops(a), 1e9);
  EXPECT_EQ(graph.bytes_read(a), 12.0);
  EXPECT_EQ(graph.bytes_written(a), 0.5);
  EXPECT_THAT(edges_of(graph), ElementsAre("a->b", "b->c d"));
  EXPECT_EQ(graph.transfer_time(TensorId(0)), 0.25);
  EXPECT_EQ(graph.bytes(TensorId(0)), 100.0);
  EXPECT_TRUE(graph.outputs(e).empty());
}

// As torchviz draws: nothing of it is meant for us but the nodes and edges.
TEST(Dot, ReadsDrawingsWithoutCosts) {
  const Imported imported = read_dot("net.dot", R"dot(digraph {
  graph [size="12,12"]
  node [align=left fontname=monospace fontsize=10 height=0.2 ranksep=0.1 shape=box style=filled]
  1402 [label="
 (1, 3)" fillcolor=darkolivegreen1]
  1403 [label=AddmmBackward0]
  1403 -> 1402
  1404 [label=AccumulateGrad]
  1404 -> 1403
}
)dot");
  const graph::Graph& graph = imported.graph;
  EXPECT_EQ(graph.name(), "net");
  EXPECT_EQ(graph.op_kind(NodeId(1)), "AddmmBackward0");
  EXPECT_EQ(graph.given_time(NodeId(1)), std::nullopt);
  EXPECT_THAT(edges_of(graph), ElementsAre("1403->1402", "1404->1403"));
  EXPECT_THAT(imported.notes, ElementsAre(HasSubstr("no node has a time, flops or bytes")));
}

TEST(Dot, GraphvizsOwnAttributesAreNoCosts) {
  const Imported imported = read_dot("g.dot", R"(digraph {
    graph [size="7.5,10!", weight=heavy, time_unit=ms]
    node [size="1,1", width=0.5]
    a [size=big, time=1, height="0.5,"]
    a -> b [weight=3, penwidth=2, len="1.5"]
  })");
  const graph::Graph& graph = imported.graph;
  EXPECT_EQ(graph.time_unit(), "ms");
  EXPECT_EQ(graph.given_time(NodeId(0)), 1.0);
  EXPECT_EQ(graph.given_time(NodeId(1)), std::nullopt);
  EXPECT_EQ(graph.transfer_time(TensorId(0)), 3.0);
  EXPECT_EQ(graph.bytes(TensorId(0)), std::nullopt);
  EXPECT_TRUE(imported.notes.empty());  // one node has a cost
  // Attributes that have a meaning only here are still checked.
  EXPECT_EQ(dot_error("digraph { a -> b [size=\"1,1\"] }"),
            "g.dot:1:24: size must be a finite number >= 0");
  EXPECT_EQ(dot_error("digraph { node [time=soon] }"),
            "g.dot:1:22: time must be a finite number >= 0");
}

TEST(Dot, TakesTheLabelForTheOpWhereNothingElseSays) {
  const graph::Graph graph =
      dot_graph(R"(digraph { a [label="Conv"]; b [label="\N"]; c [label=<x<b>y</b>>] })");
  EXPECT_EQ(graph.op_kind(NodeId(0)), "Conv");
  EXPECT_EQ(graph.op_kind(NodeId(1)), "op");
  EXPECT_EQ(graph.op_kind(NodeId(2)), "x<b>y</b>");
}

TEST(Dot, SubgraphsHaveTheirOwnDefaultsAndMayStandAtEdges) {
  const graph::Graph graph = dot_graph(R"(digraph {
    node [time=1]
    subgraph cluster_1 { node [time=5]; a b }
    c
    { a b } -> { c; d } -> e
  })");
  EXPECT_EQ(graph.given_time(NodeId(0)), 5.0);
  EXPECT_EQ(graph.given_time(NodeId(2)), 1.0);
  EXPECT_THAT(edges_of(graph), ElementsAre("a->c", "a->d", "b->c", "b->d", "c->e", "d->e"));
}

TEST(Dot, OneResultPerNodeUnlessSizesDiffer) {
  const graph::Graph graph = dot_graph(R"(digraph {
    a -> b [bytes=10, time=1]; a -> c [size=10, time=1]; a -> d [bytes=20, time=2]; "a.1" })");
  const NodeId a(0);
  ASSERT_EQ(graph.outputs(a).size(), 2u);
  const TensorId small = graph.outputs(a)[0], large = graph.outputs(a)[1];
  EXPECT_EQ(graph.consumers(small).size(), 2u);
  EXPECT_EQ(graph.bytes(large), 20.0);
  EXPECT_EQ(graph.transfer_time(large), 2.0);
  EXPECT_EQ(graph.tensor_name(small), "a");
  EXPECT_EQ(graph.tensor_name(large), "a.1'");  // "a.1" may name the result of that node
}

TEST(Dot, ConsumersKeepTheirOwnTransferTimes) {
  const graph::Graph graph =
      dot_graph("digraph { a [transfer_time=7]; a -> b [weight=1]; a -> c [weight=2]; a -> d }");
  ASSERT_EQ(graph.outputs(NodeId(0)).size(), 1u);
  const TensorId tensor = graph.outputs(NodeId(0))[0];
  EXPECT_EQ(graph.transfer_time(tensor, 0), 1.0);
  EXPECT_EQ(graph.transfer_time(tensor, 1), 2.0);
  EXPECT_EQ(graph.transfer_time(tensor, 2), 7.0);
}

TEST(Dot, ANodeMaySayHowLargeItsResultIs) {
  const graph::Graph graph = dot_graph("digraph { a [bytes=64]; a -> b; b [bytes=8] }");
  EXPECT_EQ(graph.bytes(TensorId(0)), 64.0);
  ASSERT_EQ(graph.outputs(NodeId(1)).size(), 1u);  // b's, which nobody reads
  EXPECT_EQ(graph.bytes(TensorId(1)), 8.0);
}

TEST(Dot, NumbersMayHaveExponents) {
  EXPECT_EQ(dot_graph("digraph { a [time=1e5] }").given_time(NodeId(0)), 1e5);
  EXPECT_EQ(dot_graph("digraph { a [time=2.5E-3, op=x] }").given_time(NodeId(0)), 2.5e-3);
  EXPECT_EQ(dot_error("digraph { 2nd }"),
            "g.dot:1:11: not a number; a name that starts like one must stand in double quotes");
}

TEST(Dot, StringsMayBeJoinedAndEscaped) {
  const graph::Graph graph =
      dot_graph("digraph { \"a\" + /* and */ \"b\"; \"say \\\"c\\\" \\\\\"; \"d\\\ne\" }");
  EXPECT_EQ(graph.node_name(NodeId(0)), "ab");
  EXPECT_EQ(graph.node_name(NodeId(1)), "say \"c\" \\");
  EXPECT_EQ(graph.node_name(NodeId(2)), "de");
}

TEST(Dot, WritesWhatItCanRead) {
  graph::GraphBuilder builder;
  builder.set_name("a \"net\"");
  builder.set_time_unit("ticks");
  const NodeId a = builder.add_node({.name = "a\\", .op = "gemm", .time = 1e-7, .flops = 3.0});
  const NodeId b = builder.add_node({.name = "b", .bytes_read = 1.0, .bytes_written = 2.0});
  const TensorId t = builder.add_output(a, 10.0, 0.1);
  builder.add_output(b, 5.0, 2.0);
  builder.connect(t, b);
  const graph::Graph graph = std::move(builder).build();
  const SavedGraph saved = write_dot(graph);
  EXPECT_TRUE(saved.notes.empty());
  EXPECT_EQ(saved.text,
            "digraph \"a \\\"net\\\"\" {\n"
            "  time_unit=\"ticks\";\n"
            "  \"a\\\\\" [op=\"gemm\", time=\"1e-07\", flops=\"3\"];\n"
            "  \"b\" [op=\"op\", bytes_read=\"1\", bytes_written=\"2\", bytes=\"5\", "
            "transfer_time=\"2\"];\n"
            "  \"a\\\\\" -> \"b\" [time=\"0.1\", bytes=\"10\"];\n"
            "}\n");
  const graph::Graph again = dot_graph(saved.text);
  EXPECT_EQ(again.hash(), graph.hash());
  EXPECT_EQ(again.name(), graph.name());
}

TEST(Dot, GeneratedGraphsSurviveExactly) {
  for (const graph::Family family : graph::all_families()) {
    const graph::Graph graph = graph::generate_random({family, 150});
    const SavedGraph saved = write_dot(graph);
    EXPECT_TRUE(saved.notes.empty());
    EXPECT_EQ(dot_graph(saved.text).hash(), graph.hash()) << graph::family_name(family);
  }
}

TEST(Dot, SaysWhatItCannotHold) {
  graph::GraphBuilder builder;
  const TensorId w = builder.add_tensor({.name = "w", .role = graph::TensorRole::kParameter});
  const NodeId a = builder.add_node({.name = "a", .times_by_kind = {{"cpu", 1.0}}, .meta_op = "m"});
  const NodeId b = builder.add_node({.name = "b", .kernel = kernel::KernelCall{"add", {}, {}, {}}});
  builder.connect(w, a);
  for (const char* name : {"x", "y"}) {
    builder.connect(builder.add_tensor({.name = name, .producer = a, .bytes = 4.0}), b);
  }
  builder.add_tensor({.name = "w2", .producer = b, .output = true, .updates = w});
  builder.constraints().memory.push_back({"gpu0", 1});
  EXPECT_THAT(write_dot(std::move(builder).build()).notes,
              ElementsAre(HasSubstr("equally large"), HasSubstr("inputs and parameters"),
                          HasSubstr("outputs"), HasSubstr("updates"), HasSubstr("kind of device"),
                          HasSubstr("kernel"), HasSubstr("meta-ops"), HasSubstr("constraints")));
}

TEST(Dot, RefusesWhatHasNoDirection) {
  EXPECT_EQ(dot_error("graph { a -- b }"),
            "g.dot:1:1: an undirected graph does not say what comes first; only 'digraph' is read");
  EXPECT_EQ(dot_error("digraph { a -- b }"),
            "g.dot:1:13: '--' has no direction: a digraph's edges are written '->'");
}

TEST(Dot, RefusesBadInputWithItsPlace) {
  EXPECT_EQ(dot_error(""), "g.dot:1:1: the file ends where 'digraph' should be");
  EXPECT_EQ(dot_error("{\"format\": 1}"), "g.dot:1:1: expected 'digraph', found '{'");
  EXPECT_EQ(dot_error("digraph {\n a -> }"),
            "g.dot:2:7: expected a node, an edge or '}', found '}'");
  EXPECT_EQ(dot_error("digraph { a [time] b [=] }"),
            "g.dot:1:23: expected an attribute or ']', found '='");
  EXPECT_EQ(dot_error("digraph { node a }"), "g.dot:1:16: expected '[', found 'a'");
  EXPECT_EQ(dot_error("digraph { \"\" }"), "g.dot:1:11: a node must have a name");
  EXPECT_EQ(dot_error("digraph { a } b"), "g.dot:1:15: something follows the end of the graph");
  EXPECT_EQ(dot_error("digraph { \"a }"), "g.dot:1:11: the string does not end");
  EXPECT_EQ(dot_error("digraph { /* a }"), "g.dot:1:11: the comment does not end");
  EXPECT_EQ(dot_error("digraph { a @ b }"), "g.dot:1:13: a character that has no meaning here");
  EXPECT_EQ(dot_error("digraph { a -> b\n b -> c -> b }"),
            "g.dot:1:16: node 'b' depends on itself (a cycle)");
  EXPECT_EQ(dot_error("digraph { a [flops=" + std::string(3, '9') + "] a -> a }"),
            "g.dot:1:11: node 'a' depends on itself (a cycle)");
  for (const char* cost : {"-1", "nan", "\"inf\"", "\"\"", "1e999", "\"12x\"", "high"}) {
    EXPECT_EQ(dot_error(fmt::format("digraph {{ a [time={}] }}", cost)),
              "g.dot:1:19: time must be a finite number >= 0")
        << cost;
    EXPECT_EQ(dot_error(fmt::format("digraph {{ a -> b [bytes={}] }}", cost)),
              "g.dot:1:25: bytes must be a finite number >= 0")
        << cost;
  }
}

TEST(Dot, RefusesDeepNestingAndAbsurdCounts) {
  EXPECT_EQ(dot_error("digraph " + std::string(100000, '{')),
            "g.dot:1:73: nested deeper than 64 levels");
  std::string groups = "digraph { subgraph a {";
  for (int i = 0; i < 5000; ++i) groups += fmt::format(" a{}", i);
  groups += "} -> {";
  for (int i = 0; i < 5000; ++i) groups += fmt::format(" b{}", i);
  EXPECT_EQ(dot_error(groups + "} }"), "g.dot:1:11: more than 20000000 edges");
}

TEST(Dot, EveryTruncationIsAnError) {
  const std::string text =
      "digraph \"n\" { node [op=x]; a [time=1] /* c */; a -> b:p -> {c d} [bytes=\"5\"] // e\n}";
  ASSERT_EQ(dot_error(text), "no error");
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_THAT(dot_error(text.substr(0, length)), testing::StartsWith("g.dot:"))
        << "after " << length << " bytes";
  }
}

}  // namespace
}  // namespace doppler::formats
