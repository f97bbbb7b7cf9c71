#include "doppler/tra/lowering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "doppler/tra/operations.h"
#include "doppler/tra/planning.h"
#include "doppler/tra/program.h"
#include "support/errors.h"
#include "support/lowered.h"
#include "support/tra.h"

namespace doppler::tra {
namespace {

using test::dense_input;

Lowered lower_sharded(const std::vector<Relation>& roots, const Sharding& sharding) {
  std::vector<Root> named_roots;
  for (const Relation& relation : shard(roots, sharding)) {
    named_roots.push_back({relation, "root" + std::to_string(named_roots.size())});
  }
  return lower(named_roots, kernel::default_kernels(), "test");
}

void expect_lowered_values(const std::vector<Relation>& roots, const Sharding& sharding,
                           const std::map<std::string, Blocks>& inputs) {
  const Lowered lowered = lower_sharded(roots, sharding);
  const std::vector<Relation> sharded = shard(roots, sharding);
  const std::vector<Blocks> expected = interpret(roots, inputs);
  const test::LoweredRun<double> run(lowered, inputs);
  for (std::size_t r = 0; r < roots.size(); ++r) {
    const std::vector<double> all = test::whole(sharded[r]->type, run.root(r));
    ASSERT_EQ(all.size(), expected[r][0].size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_NEAR(all[i], expected[r][0][i], 1e-9 * (1 + std::abs(expected[r][0][i])))
          << "root " << r << " element " << i;
    }
  }
}

using PartsByName = std::map<std::string, std::int64_t>;

TEST(Lowering, GraphsComputeWhatTheProgramSays) {
  const test::Attention a;
  const Relation loss = sum(multiply(a.out, a.out), {"s", "e"});
  std::vector<Relation> roots = gradients(loss, std::vector{a.wq, a.wk, a.wv, a.wo});
  roots.push_back(a.out);
  Rng rng(1);
  const auto inputs = test::random_inputs(roots, rng, -1, 1);
  for (const PartsByName& parts :
       {PartsByName{}, PartsByName{{"h", 3}}, PartsByName{{"s", 2}, {"t", 2}},
        PartsByName{{"s", 5}, {"t", 3}}, PartsByName{{"e", 4}, {"h", 2}},
        PartsByName{{"s", 2}, {"e", 3}, {"h", 2}, {"t", 5}}}) {
    expect_lowered_values(roots, test::shard_by_name(parts), inputs);
  }
  for (const std::int64_t devices : {2, 3, 8}) {
    expect_lowered_values(roots, Planner(roots, {.devices = devices}).best().sharding(), inputs);
  }
}

// x in 2 x 2 blocks times w in 2 x 1: four products, two of them added for each row of blocks.
TEST(Lowering, AProductBecomesShardsAndReductions) {
  const Relation x = dense_input("x", {{"i", 4}, {"k", 6}});
  const Relation w = dense_input("w", {{"k", 6}, {"j", 2}}, InputRole::kParameter);
  const Lowered lowered = lower_sharded({named(contract(x, w, {"i", "j"}), "y")},
                                        test::shard_by_name({{"i", 2}, {"k", 2}}));
  const graph::Graph& graph = lowered.graph;
  EXPECT_EQ(graph.node_count(), 6u);
  EXPECT_THAT(graph.meta_op_names(), testing::ElementsAre("y"));
  std::map<std::string, int> kernels;
  for (const NodeId node : graph.topological_order()) {
    ++kernels[std::string(graph.op_kind(node))];
    EXPECT_EQ(graph.meta_op(node)->role, graph.op_kind(node) == "add_n"
                                             ? graph::MetaRole::kReduction
                                             : graph::MetaRole::kShard);
  }
  EXPECT_THAT(kernels,
              testing::ElementsAre(testing::Pair("add_n", 2), testing::Pair("contract", 4)));
  const NodeId first = *graph.find_node("y[0,0]");
  EXPECT_EQ(graph.flops(first), 2.0 * 2 * 3 * 2);
  EXPECT_EQ(graph.kernel_call(first)->attributes[0].second, "ab,bc->ac");
  EXPECT_EQ(graph.bytes(lowered.inputs[0].blocks[0]), 4.0 * 2 * 3);
  EXPECT_EQ(graph.role(lowered.inputs[1].blocks[0]), graph::TensorRole::kParameter);
  EXPECT_TRUE(graph.is_output(lowered.roots[0][1]));
}

// 6 = 3 + 3 = 2 + 2 + 2: the middle part takes a slice of both, the outer ones one slice each.
TEST(Lowering, AnotherSplitTakesWhatOverlaps) {
  const Relation x = dense_input("x", {{"i", 6}});
  const Relation y = named(apply("exp", x), "y");
  const Relation z = named(apply("tanh", y), "z");
  const Sharding sharding = [](const Expression& e, const std::string&) -> std::int64_t {
    return e.name == "z" ? 3 : 2;
  };
  const Lowered lowered = lower_sharded({z}, sharding);
  std::map<std::string, int> kernels;
  for (const NodeId node : lowered.graph.topological_order()) {
    ++kernels[std::string(lowered.graph.op_kind(node))];
  }
  EXPECT_THAT(kernels, testing::ElementsAre(testing::Pair("concat", 1), testing::Pair("exp", 2),
                                            testing::Pair("slice", 4), testing::Pair("tanh", 3)));
}

TEST(Lowering, EqualNodesAreMadeOnceAndUnusedOnesNever) {
  const Relation x = dense_input("x", {{"i", 4}});
  const Relation unused = apply("log", x);
  const Relation y = add(apply("exp", x), apply("exp", x));
  const Lowered lowered = lower_sharded({y}, test::shard_by_name({{"i", 2}}));
  EXPECT_EQ(lowered.graph.node_count(), 4u);
}

TEST(Lowering, NewValuesUpdateTheirParameters) {
  const Relation w = dense_input("w", {{"i", 4}}, InputRole::kParameter);
  const Relation g = dense_input("g", {{"i", 4}});
  const Relation updated =
      join(w, g, binary("sgd_update", w->type.dimensions, g->type.dimensions, 0.5));
  const std::vector<Relation> sharded =
      shard(std::vector{updated, w}, test::shard_by_name({{"i", 2}}));
  const Root root{sharded[0], "w.new", sharded[1]};
  const Lowered lowered = lower(std::span(&root, 1), kernel::default_kernels(), "test");
  ASSERT_EQ(lowered.roots[0].size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(lowered.graph.updates(lowered.roots[0][i]), lowered.inputs[0].blocks[i]);
  }
}

// Splitting a dimension anew moves its component to the end of the key; blocks of the new value
// still belong to the blocks of the parameter with the same parts.
TEST(Lowering, NewValuesFindTheirPartsInAnotherOrderOfKeys) {
  const Relation w = dense_input("w", {{"i", 4}, {"j", 4}}, InputRole::kParameter);
  const Relation whole_rows = named(scale(w, 2.0), "whole rows");
  const Relation updated = named(shift(whole_rows, 1.0), "w.new");
  const Sharding sharding = [](const Expression& e, const std::string& dimension) -> std::int64_t {
    return e.name == "whole rows" && dimension == "i" ? 1 : 2;
  };
  const std::vector<Relation> sharded = shard(std::vector{updated, w}, sharding);
  ASSERT_NE(sharded[0]->type.keys, sharded[1]->type.keys);
  const Root root{sharded[0], "w.new", sharded[1]};
  const Lowered lowered = lower(std::span(&root, 1), kernel::default_kernels(), "test");
  Rng rng(4);
  const auto inputs = test::random_inputs(std::vector{w}, rng);
  std::vector<double> expected = inputs.at("w")[0];
  for (double& v : expected) v = 2.0 * v + 1.0;
  EXPECT_EQ(test::LoweredRun<double>(lowered, inputs).updated().at("w")[0], expected);
}

TEST(Lowering, RefusesNewValuesThatAreSplitInAnotherWay) {
  const Relation w = dense_input("w", {{"i", 4}, {"j", 4}}, InputRole::kParameter);
  for (const char* other : {"i", "j"}) {
    const Relation updated = named(shift(w, 1.0), "w.new");
    const Sharding sharding = [&](const Expression& e, const std::string& d) -> std::int64_t {
      return (e.name == "w") == (d == other) ? 2 : 1;
    };
    const std::vector<Relation> sharded = shard(std::vector{updated, w}, sharding);
    const Root root{sharded[0], "w.new", sharded[1]};
    EXPECT_EQ(
        test::error_of([&] { lower(std::span(&root, 1), kernel::default_kernels(), "test"); }),
        "the new value of 'w' is split in another way than it");
  }
}

}  // namespace
}  // namespace doppler::tra
