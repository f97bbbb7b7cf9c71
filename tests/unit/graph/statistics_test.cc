#include "doppler/graph/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/graph/builder.h"
#include "support/graphs.h"

namespace doppler::graph {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(Levels, AreLongestPathsFromTheSources) {
  // a -> b -> d, a -> d, c: d is two edges from a by the longer path, c stands alone.
  const Graph graph = test::simple_graph({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}},
                                         {{"a", "b"}, {"a", "d"}, {"b", "d"}}, 1);
  const Levels levels = compute_levels(graph);
  EXPECT_THAT(levels.of_node, ElementsAre(0, 1, 0, 2));
  EXPECT_EQ(levels.depth(), 3u);
  EXPECT_EQ(levels.width(), 2u);
  EXPECT_THAT(levels.nodes[0], ElementsAre(NodeId(0), NodeId(2)));
}

TEST(Levels, OfNothingAreNone) {
  const Levels levels = compute_levels(GraphBuilder().build());
  EXPECT_EQ(levels.depth(), 0u);
  EXPECT_EQ(levels.width(), 0u);
}

TEST(Stages, AreMetaOpsThenTheirReductionsByDepth) {
  GraphBuilder builder;
  const auto add = [&](const char* name, const char* meta, MetaRole role) {
    const NodeId node =
        builder.add_node({.name = name, .time = 1.0, .meta_op = meta, .meta_role = role});
    return std::pair(node, builder.add_output(node, 1.0));
  };
  const auto [x0, tx0] = add("x0", "x", MetaRole::kShard);
  const auto [r1, tr1] = add("r1", "x", MetaRole::kReduction);
  const auto [r2, tr2] = add("r2", "x", MetaRole::kReduction);
  const auto [y0, ty0] = add("y0", "y", MetaRole::kShard);
  const auto [x1, tx1] = add("x1", "x", MetaRole::kShard);
  builder.connect(tx0, r1);
  builder.connect(tx1, r1);
  builder.connect(tr1, r2);
  builder.connect(tr2, y0);
  const Graph graph = std::move(builder).build();
  const std::vector<std::vector<NodeId>> expected = {{x0, x1}, {r1}, {r2}, {y0}};
  EXPECT_EQ(compute_stages(graph), expected);
}

TEST(Stages, AreLevelsWhereThereAreNoMetaOps) {
  const Graph graph = test::simple_graph({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}},
                                         {{"a", "b"}, {"b", "d"}, {"c", "d"}}, 0.0);
  const auto n = [](std::uint32_t v) { return NodeId(v); };
  const std::vector<std::vector<NodeId>> expected = {{n(0), n(2)}, {n(1)}, {n(3)}};
  EXPECT_EQ(compute_stages(graph), expected);
}

TEST(Statistics, CountsWorkAndTraffic) {
  GraphBuilder builder;
  const TensorId w =
      builder.add_tensor({.name = "w", .role = TensorRole::kParameter, .bytes = 64.0});
  const NodeId a = builder.add_node({.name = "a", .op = "gemm", .time = 3.0, .flops = 10.0});
  const NodeId b = builder.add_node({.name = "b", .op = "add", .time = 1.0, .meta_op = "sum"});
  const NodeId c = builder.add_node({.name = "c", .op = "add", .time = 2.0, .meta_op = "sum"});
  builder.connect(w, a);
  const TensorId y = builder.add_output(a, 100.0, 4.0);
  builder.connect(y, b);
  builder.connect(y, c, 8.0);
  builder.add_output(b, 7.0, 5.0);  // nobody reads it: no traffic
  const Statistics result = compute_statistics(std::move(builder).build());
  EXPECT_EQ(result.nodes, 3u);
  EXPECT_EQ(result.edges, 2u);
  EXPECT_EQ(result.tensors, 3u);
  EXPECT_EQ(result.depth, 2u);
  EXPECT_EQ(result.width, 2u);
  EXPECT_EQ(result.sources, 1u);
  EXPECT_EQ(result.sinks, 2u);
  EXPECT_EQ(result.meta_ops, 1u);
  EXPECT_EQ(result.work.sum, 6.0);
  EXPECT_EQ(result.flops.sum, 10.0);
  EXPECT_EQ(result.flops.known, 1u);
  EXPECT_EQ(result.traffic_bytes.sum, 100.0);
  EXPECT_EQ(result.traffic_time.sum, 8.0);  // the larger of y's 4 and 8
  EXPECT_EQ(result.parameter_bytes.sum, 64.0);
  // Edges take 4 and 8, mean 6; nodes take 6 / 3 = 2 on average.
  EXPECT_EQ(result.ccr, 3.0);
  EXPECT_THAT(result.op_kinds, ElementsAre(Pair("add", 2u), Pair("gemm", 1u)));
}

TEST(Statistics, HasNoRatioWhereATimeIsMissing) {
  GraphBuilder builder;
  const NodeId a = builder.add_node({.name = "a"});
  builder.connect(builder.add_output(a, 1.0, 1.0), builder.add_node({.name = "b", .time = 1.0}));
  EXPECT_FALSE(compute_statistics(std::move(builder).build()).ccr);
}

}  // namespace
}  // namespace doppler::graph
