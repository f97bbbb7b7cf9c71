#include "doppler/tra/lowering.h"

#include <gtest/gtest.h>

#include "doppler/tra/operations.h"
#include "doppler/tra/program.h"
#include "support/tra.h"

namespace doppler::tra {
namespace {

using test::dense_input;
using test::random_inputs;

class AttentionSharding : public testing::TestWithParam<std::map<std::string, std::int64_t>> {};

TEST_P(AttentionSharding, GivesTheSameForwardAndBackward) {
  const test::Attention a;
  const Relation loss = sum(multiply(a.out, a.out), {"s", "e"});
  std::vector<Relation> roots = gradients(loss, std::vector{a.wq, a.wk, a.wv, a.wo});
  roots.push_back(a.out);
  Rng rng(1);
  test::expect_same_values(roots, test::shard_by_name(GetParam()),
                           random_inputs(roots, rng, -1, 1));
}

using Parts = std::map<std::string, std::int64_t>;
INSTANTIATE_TEST_SUITE_P(Ways, AttentionSharding,
                         testing::Values(Parts{}, Parts{{"h", 3}}, Parts{{"s", 2}, {"t", 2}},
                                         Parts{{"s", 5}, {"t", 3}}, Parts{{"e", 4}, {"h", 2}},
                                         Parts{{"s", 2}, {"e", 3}, {"h", 2}, {"t", 5}},
                                         Parts{{"d", 4}}, Parts{{"s", 100}}));

TEST(Sharding, EmbeddingByRowsAndColumns) {
  const Relation table = dense_input("table", {{"v", 7}, {"e", 4}}, InputRole::kParameter);
  const Relation index = dense_input("index", {{"s", 5}});
  const Relation out = gather(table, index);
  const Relation gradient = gradients(sum(multiply(out, out), {"s", "e"}), std::vector{table})[0];
  const std::vector<Relation> roots{out, gradient};
  Rng rng(2);
  auto inputs = random_inputs(roots, rng);
  inputs.at("index")[0] = {6, 0, 3, 3, 2};
  for (const Parts& parts :
       {Parts{{"v", 3}}, Parts{{"s", 2}, {"e", 3}}, Parts{{"v", 2}, {"s", 5}, {"e", 2}}}) {
    test::expect_same_values(roots, test::shard_by_name(parts), inputs);
  }
}

// Neighbours that split a dimension differently: 3 parts, then 2, then the whole.
TEST(Sharding, OperandsAreSplitAnewWhereOperationsDiffer) {
  const Relation x = dense_input("x", {{"i", 7}, {"j", 3}});
  const Relation y = named(apply("exp", x), "y");
  const Relation z = named(scale(y, 2.0), "z");
  const Relation w = named(shift(z, 1.0), "w");
  const Sharding sharding = [](const Expression& e, const std::string& dimension) -> std::int64_t {
    if (dimension == "j") return e.name == "z" ? 3 : 1;
    return e.name == "y" ? 3 : e.name == "z" ? 2 : 1;
  };
  Rng rng(3);
  const std::vector<Relation> roots{w};
  test::expect_same_values(roots, sharding, random_inputs(roots, rng));
}

// Random expressions under random shardings, each operation with its own.
TEST(Sharding, RandomExpressionsKeepTheirValues) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const std::vector<Dimension> space{{"a", 3}, {"b", 4}, {"c", 5}, {"d", 2}};
    std::vector<Relation> pool;
    for (int i = 0; i < 3; ++i) {
      Dimensions dimensions;
      for (const Dimension& d : space) {
        if (rng.below(2) == 0) dimensions.push_back(d);
      }
      pool.push_back(dense_input(std::string("x") + std::to_string(i), dimensions));
    }
    for (int step = 0; step < 8; ++step) {
      const Relation a = pool[rng.below(static_cast<std::uint32_t>(pool.size()))];
      const Relation b = pool[rng.below(static_cast<std::uint32_t>(pool.size()))];
      std::vector<std::string> kept, all = names(a->type.dimensions);
      for (const Dimension& d : b->type.dimensions) {
        if (find(a->type.dimensions, d.name) < 0) all.push_back(d.name);
      }
      for (const std::string& name : all) {
        if (rng.below(3) > 0) kept.push_back(name);
      }
      switch (rng.below(6)) {
        case 0:
          pool.push_back(contract(a, b, kept));
          break;
        case 1:
          pool.push_back(add(a, b));
          break;
        case 2:
          pool.push_back(maximum(a, b));
          break;
        case 3:
          pool.push_back(apply("tanh", a));
          break;
        case 4:
          if (!a->type.dimensions.empty()) pool.push_back(max(a, {a->type.dimensions[0].name}));
          break;
        case 5:
          pool.push_back(conform(a, {space[rng.below(3)], space[3]}));
          break;
        default:
          break;
      }
      if (pool.back()->type.dimensions.size() > 4) pool.pop_back();
    }
    const std::vector<Relation> roots{pool.back(), pool[pool.size() - 2]};
    const Sharding sharding = [seed](const Expression& e, const std::string& dimension) {
      return std::int64_t{1} +
             static_cast<std::int64_t>((e.type.elements() * 31 + static_cast<double>(dimension[0]) +
                                        static_cast<double>(seed))) %
                 4;
    };
    test::expect_same_values(roots, sharding, random_inputs(roots, rng));
  }
}

}  // namespace
}  // namespace doppler::tra
