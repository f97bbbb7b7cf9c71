#include "doppler/cost/measured_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/base/hash.h"
#include "support/errors.h"
#include "support/graphs.h"

namespace doppler::cost {
namespace {

using ::testing::HasSubstr;

graph::Graph two_nodes() {
  return test::simple_graph({{"a", 1.0}, {"b", 2.0}}, {{"a", "b"}}, 3.0);
}

// The message for a file with these nodes and transfers, otherwise correct.
std::string costs_error(const std::string& nodes, const std::string& transfers = "") {
  const graph::Graph graph = two_nodes();
  const std::string text = R"({"format": "doppler.costs", "version": 1, "graph_hash": ")" +
                           hash_to_string(graph.hash()) + "\",\n\"nodes\": [" + nodes +
                           "],\n\"transfers\": [" + transfers + "]}";
  return test::error_of([&] { read_measured_costs_json("c.json", text, graph); });
}

TEST(MeasuredCostsJson, WhatIsWrittenReadsBackTheSame) {
  const graph::Graph graph = two_nodes();
  MeasuredCosts costs{.graph = "g.json",
                      .devices = "2xA100+2xT4",
                      .graph_hash = graph.hash(),
                      .runs = 20,
                      .kinds = {"A100", "T4"}};
  costs.nodes = {{NodeId(0), 0, 1.5e-3, 1e-5}, {NodeId(0), 1, 3e-3, 0.0}, {NodeId(1), 1, 0.0, 0.0}};
  costs.transfers = {{TensorId(0), "gpu0", "gpu1", 2e-5, 0, Link{1.2e-5, 1.575e10}},
                     {TensorId(0), "gpu1", "gpu2", 0.25, 0, std::nullopt}};
  const std::string text = write_measured_costs_json(graph, costs);
  const MeasuredCosts read = read_measured_costs_json("c.json", text, graph);
  EXPECT_EQ(read.file, "c.json");
  EXPECT_EQ(read.graph, "g.json");
  EXPECT_EQ(read.devices, "2xA100+2xT4");
  EXPECT_EQ(read.runs, 20);
  EXPECT_EQ(read.kinds, costs.kinds);
  ASSERT_EQ(read.nodes.size(), 3u);
  EXPECT_EQ(read.nodes[1].kind, 1u);
  EXPECT_EQ(read.nodes[1].seconds, 3e-3);
  ASSERT_EQ(read.transfers.size(), 2u);
  EXPECT_EQ(read.transfers[0].link, costs.transfers[0].link);
  EXPECT_FALSE(read.transfers[1].link);
  EXPECT_EQ(write_measured_costs_json(graph, read), text);
}

TEST(MeasuredCostsJson, AnotherGraphIsRefused) {
  const graph::Graph graph = two_nodes();
  const graph::Graph other = test::simple_graph({{"a", 1.0}, {"b", 2.5}}, {{"a", "b"}}, 3.0);
  MeasuredCosts costs{.graph_hash = graph.hash(), .kinds = {"k"}};
  costs.nodes = {{NodeId(0), 0, 1.0, 0.0}};
  const std::string text = write_measured_costs_json(graph, costs);
  const std::string message =
      test::error_of([&] { read_measured_costs_json("c.json", text, other); });
  EXPECT_THAT(message, HasSubstr("c.json:5:16: the graph's hash is '"));
  EXPECT_THAT(message, HasSubstr("measured for another graph"));
  EXPECT_THAT(costs_error(R"({"node": "z", "kind": "k", "seconds": 1})"),
              HasSubstr("c.json:2:20: the graph has no node 'z': these costs were measured for"));
  EXPECT_THAT(costs_error(R"({"node": "a", "kind": "k", "seconds": 1})",
                          R"({"tensor": "z", "seconds": 1})"),
              HasSubstr("no tensor 'z': these costs were measured for another graph"));
}

TEST(MeasuredCostsJson, DamagedFilesAreRefusedWithTheirPlace) {
  EXPECT_EQ(costs_error(""), "c.json:1:1: no node was measured");
  EXPECT_EQ(costs_error(R"({"node": "a", "kind": "k"})"),
            "c.json:2:11: a node needs 'node', 'kind' and 'seconds'");
  EXPECT_EQ(costs_error(R"({"node": "a", "kind": "k", "seconds": -1})"),
            "c.json:2:49: expected a number from 0 to 1e+100");
  EXPECT_THAT(costs_error(R"({"node": "a", "kind": "k", "seconds": 1e200})"),
              HasSubstr("c.json:2:49"));
  EXPECT_THAT(costs_error(R"({"node": "a", "kind": "k", "seconds": NaN})"),
              HasSubstr("c.json:2:49"));
  EXPECT_THAT(costs_error(R"({"node": "a", "kind": "k", "time": 1})"),
              HasSubstr("unknown key 'time' in a node"));
  const std::string a = R"({"node": "a", "kind": "k", "seconds": 1})";
  EXPECT_EQ(costs_error(a + "," + a), "c.json:2:52: node 'a' stands twice for kind 'k'");
  EXPECT_EQ(costs_error(a, R"({"tensor": "a"})"),
            "c.json:3:15: a transfer needs 'tensor' and 'seconds'");
  EXPECT_EQ(costs_error(a, R"({"tensor": "a", "seconds": 1, "from": "gpu0", "to": "gpu0"})"),
            "c.json:3:15: a transfer needs 'from' and 'to', two different devices");
  EXPECT_THAT(costs_error(a, R"({"tensor": "a", "seconds": 1, "link": {"latency_seconds": 1}})"),
              HasSubstr("a link needs a 'bandwidth' above 0"));
  const graph::Graph graph = two_nodes();
  const auto error = [&](const std::string& text) {
    return test::error_of([&] { read_measured_costs_json("c.json", text, graph); });
  };
  EXPECT_THAT(error("garbage"), HasSubstr("c.json:1:1: "));
  EXPECT_EQ(error("{}"), "c.json:1:1: not a doppler.costs file: no key 'format'");
  EXPECT_THAT(error(R"({"format": "doppler.costs", "version": 2})"), HasSubstr("newer doppler"));
  EXPECT_EQ(error(R"({"format": "doppler.costs", "version": 1})"),
            "c.json:1:1: no key 'graph_hash'");
  EXPECT_THAT(error(R"({"format": "doppler.costs", "version": 1, "time_unit": "ms"})"),
              HasSubstr("must be in 's'"));
}

}  // namespace
}  // namespace doppler::cost
