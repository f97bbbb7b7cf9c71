#include "doppler/formats/tasks/tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/base/file.h"
#include "doppler/graph/builder.h"
#include "doppler/graph/graph_json.h"
#include "support/errors.h"
#include "support/shared_graphs.h"

namespace doppler::formats {
namespace {

using test::error_of;
using testing::EndsWith;
using testing::HasSubstr;

// Vertices 0 to 4, of which 0 and 3 are inputs; the others are renumbered 0, 1, 2. The edge 0 -> 2
// stands twice.
constexpr std::string_view kSmall =
    "5\n"
    "0, 3, \n"
    "0, 0, 1, 0, \n"
    "1, 2, 2, 2, \n"
    "10000000000,40000000000,einsum\n"
    "5000000000,20000000000\n"
    "0,0,formation\n";

std::string published_text_error(std::string_view text) {
  return error_of([&] { read_published_text("g.txt", text); });
}

TEST(PublishedText, ReadsVerticesEdgesAndCosts) {
  const graph::Graph graph = read_published_text("dir/small.txt", kSmall).graph;
  EXPECT_EQ(graph.name(), "small");
  EXPECT_EQ(graph.time_unit(), "s");
  ASSERT_EQ(graph.node_count(), 3u);
  EXPECT_EQ(graph.edge_count(), 3u);
  EXPECT_EQ(graph.node_name(NodeId(2)), "n2");
  EXPECT_EQ(graph.op_kind(NodeId(0)), "einsum");
  EXPECT_EQ(graph.op_kind(NodeId(1)), "op");
  EXPECT_EQ(graph.given_time(NodeId(0)), 1.0);
  EXPECT_EQ(graph.given_time(NodeId(1)), 0.5);
  EXPECT_EQ(graph.transfer_time(TensorId(0)), 4.0);
  EXPECT_FALSE(graph.bytes(TensorId(0)));
  EXPECT_FALSE(graph.is_output(TensorId(2)));
  EXPECT_THAT(graph.inputs(NodeId(2)), testing::ElementsAre(TensorId(0), TensorId(1)));
}

TEST(PublishedText, AcceptsOtherLineEndsAndNoInputs) {
  EXPECT_EQ(read_published_text("g", "2\r\n\r\n0\r\n1\r\n1,2,a\r\n3,4\r\n").graph.edge_count(), 1u);
  EXPECT_EQ(read_published_text("g", "1\n\n\n\n1,2").graph.node_count(), 1u);
}

TEST(PublishedText, WritesWhatItRead) {
  const graph::Graph graph = read_published_text("g.txt", kSmall).graph;
  const SavedGraph saved = write_published_text(graph);
  EXPECT_TRUE(saved.notes.empty());
  EXPECT_EQ(saved.text,
            "3\n"
            "\n"
            "0, 0, 1, \n"
            "1, 2, 2, \n"
            "10000000000,40000000000,einsum\n"
            "5000000000,20000000000\n"
            "0,0,formation\n");
  EXPECT_EQ(read_published_text("g.txt", saved.text).graph.hash(), graph.hash());
}

TEST(PublishedText, SurvivesTheWayThroughJson) {
  const graph::Graph graph = read_published_text("g.txt", kSmall).graph;
  const graph::Graph from_json = graph::read_graph_json("g.json", graph::write_graph_json(graph));
  EXPECT_EQ(from_json.hash(), graph.hash());
  EXPECT_EQ(write_published_text(from_json).text, write_published_text(graph).text);
}

TEST(PublishedText, SaysWhatItCannotHold) {
  graph::GraphBuilder builder;
  builder.set_time_unit("ms");
  const NodeId a = builder.add_node({.name = "a", .time = 2.00000000004, .flops = 5.0});
  const NodeId b = builder.add_node({.name = "b", .time = 4e-11});
  const TensorId t = builder.add_tensor({.name = "t", .producer = a, .transfer_time = 1.0});
  const TensorId u = builder.add_tensor({.name = "u", .producer = a, .transfer_time = 2.0});
  builder.connect(t, b);
  builder.connect(u, b, 3.0);
  builder.constraints().pins.push_back({a, "gpu0"});
  const SavedGraph saved = write_published_text(std::move(builder).build());
  // One edge, with the largest of 1 and 3; 4e-11 s is less than half a unit.
  EXPECT_EQ(saved.text, "2\n\n0, \n1, \n20000000000,30000000000\n0,0\n");
  EXPECT_THAT(saved.notes,
              testing::ElementsAre(HasSubstr("names of nodes"), HasSubstr("rounded"),
                                   HasSubstr("their largest"), HasSubstr("flops and bytes"),
                                   HasSubstr("'ms'"), HasSubstr("constraints")));
}

TEST(PublishedText, RefusesToWriteWithoutTimes) {
  const auto error = [](std::optional<double> time, std::optional<double> transfer) {
    graph::GraphBuilder builder;
    const NodeId a = builder.add_node({.name = "a", .time = time});
    builder.connect(builder.add_output(a, 8.0, transfer),
                    builder.add_node({.name = "b", .time = 1.0}));
    const graph::Graph graph = std::move(builder).build();
    return error_of<ParameterError>([&] { write_published_text(graph); });
  };
  EXPECT_EQ(error(1.0, 1.0), "no error");
  EXPECT_THAT(error(std::nullopt, 1.0), HasSubstr("node 'a' has no given time"));
  EXPECT_THAT(error(1.0, std::nullopt), HasSubstr("tensor 'a' has no given time"));
  EXPECT_THAT(error(1e12, 1.0), HasSubstr("too long"));
}

TEST(PublishedText, RefusesBadInputWithItsPlace) {
  EXPECT_EQ(published_text_error(""), "g.txt:1:1: the file ends before the number of vertices");
  EXPECT_EQ(published_text_error("{\"format\": 1}"),
            "g.txt:1:1: expected the number of vertices, an integer");
  EXPECT_EQ(published_text_error("99999999999\n"),
            "g.txt:1:1: 99999999999 is too large: the number of vertices must be below 50000001");
  EXPECT_EQ(published_text_error("99999999999999999999999999\n"),
            "g.txt:1:1: 99999999999999999999999999 is too large: the number of vertices must be "
            "below 50000001");
  EXPECT_EQ(published_text_error("-3\n"), "g.txt:1:1: expected the number of vertices, an integer");
  EXPECT_EQ(published_text_error("2\n0, 2,\n"),
            "g.txt:2:4: 2 is too large: the number of an input vertex must be below 2");
  EXPECT_EQ(published_text_error("2\n0, 0,\n"), "g.txt:2:1: the input vertex 0 stands twice");
  EXPECT_EQ(published_text_error("3\n0,\n0, x\n"),
            "g.txt:3:4: expected the number of a vertex, an integer");
  EXPECT_EQ(published_text_error("3\n0,\n0, 5\n1, 1\n1,1\n1,1\n"),
            "g.txt:3:4: 5 is too large: the number of a vertex must be below 2");
  EXPECT_EQ(published_text_error("2\n\n0\n1, 1\n1,1\n1,1\n"),
            "g.txt:4:1: 1 edge sources but 2 edge targets");
  EXPECT_EQ(published_text_error("2\n\n0\n1\n1,1\n"),
            "g.txt:6:1: the file ends after the costs of 1 vertices of 2");
  EXPECT_EQ(published_text_error("50000000\n\n\n\n1,1\n"),
            "g.txt:6:1: the file ends after the costs of 1 vertices of 50000000");
  EXPECT_EQ(published_text_error("1\n\n\n\n1,1\n2,2\n"),
            "g.txt:6:1: something follows the costs of the 1 vertices");
}

TEST(PublishedText, RefusesCostsThatAreNoCosts) {
  for (const char* cost : {"-1", "nan", "inf", "", "1e999", "12x"}) {
    EXPECT_EQ(published_text_error(std::string("1\n\n\n\n") + cost + ",1\n"),
              "g.txt:5:1: the compute cost must be a finite number >= 0")
        << cost;
    EXPECT_EQ(published_text_error(std::string("1\n\n\n\n1, ") + cost + ",x\n"),
              "g.txt:5:4: the communication cost must be a finite number >= 0")
        << cost;
  }
}

TEST(PublishedText, PointsAtANodeOfACycle) {
  EXPECT_EQ(published_text_error("2\n\n0, 1\n1, 0\n1,1\n1,1\n"),
            "g.txt:5:1: node 'n0' depends on itself (a cycle)");
  EXPECT_EQ(published_text_error("1\n\n0\n0\n1,1\n"),
            "g.txt:5:1: node 'n0' depends on itself (a cycle)");
}

TEST(PublishedText, EveryTruncationBeforeTheLastLineIsAnError) {
  // The last line may be cut behind its second number: nothing then shows that more stood there.
  const std::size_t last_line = kSmall.rfind("0,0,formation");
  for (std::size_t length = 0; length < last_line + 3; ++length) {
    EXPECT_THAT(published_text_error(kSmall.substr(0, length)), testing::StartsWith("g.txt:"))
        << "after " << length << " bytes";
  }
}

TEST(PublishedText, ReadsThePublishedGraphs) {
  const std::pair<const char*, std::size_t> graphs[] = {
      {"chainmm", 76}, {"ffnn", 180}, {"llama_block", 182}, {"llama_layer", 229}};
  for (const auto& [name, nodes] : graphs) {
    const auto path = test::shared_graph(std::string("reference/") + name + ".txt");
    if (!path) GTEST_SKIP() << "the shared graphs are not here";
    const graph::Graph graph = read_published_text(*path, read_file(*path)).graph;
    EXPECT_EQ(graph.name(), name);
    EXPECT_EQ(graph.node_count(), nodes);
    const SavedGraph saved = write_published_text(graph);
    EXPECT_TRUE(saved.notes.empty());
    EXPECT_EQ(read_published_text(*path, saved.text).graph.hash(), graph.hash());
  }
}

}  // namespace
}  // namespace doppler::formats
