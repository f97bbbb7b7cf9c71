#include "doppler/tra/planning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/tra/operations.h"
#include "doppler/tra/program.h"
#include "support/tra.h"

namespace doppler::tra {
namespace {

using test::dense_input;
using testing::ElementsAre;
using testing::Pair;

Machine machine(std::int64_t devices) {
  return {.devices = devices,
          .flops = 1e13,
          .memory_bandwidth = 1e12,
          .link_bandwidth = 1e10,
          .launch_seconds = 1e-9};
}

const PlannedOperation& find_operation(const Plan& plan, const std::string& name) {
  for (const PlannedOperation& operation : plan.operations()) {
    if (operation.operation->name == name) return operation;
  }
  ADD_FAILURE() << "no operation " << name;
  return plan.operations().front();
}

// Inputs are wherever they are used, so the one thing that moves in x w1 w2 is what the first
// product hands to the second: splitting the rows of both moves nothing.
TEST(Planning, ChainsOfProductsSplitByRows) {
  const Relation x = dense_input("x", {{"b", 4096}, {"i", 4096}});
  const Relation w1 = dense_input("w1", {{"i", 4096}, {"h", 4096}}, InputRole::kParameter);
  const Relation w2 = dense_input("w2", {{"h", 4096}, {"o", 4096}}, InputRole::kParameter);
  const Relation first = named(contract(x, w1, {"b", "h"}), "first");
  const Relation second = named(contract(first, w2, {"b", "o"}), "second");
  const Plan found = Planner(std::vector{second}, machine(4)).best();
  EXPECT_THAT(find_operation(found, "first").parts, ElementsAre(Pair("b", 4)));
  EXPECT_THAT(find_operation(found, "second").parts, ElementsAre(Pair("b", 4)));
  EXPECT_EQ(find_operation(found, "second").cost.moved_bytes, 0.0);
  EXPECT_THAT(find_operation(found, "second").operands,
              ElementsAre(Movement::kLocal, Movement::kBroadcast));
  // 2 x 4096^3 flop on each of four devices, 1e13 a second, twice.
  EXPECT_NEAR(found.predicted_seconds(), 2 * 2 * std::pow(4096.0, 3) / 4 / 1e13, 1e-6);
}

// One row and a small result: the first product must be split by columns, the second along what it
// sums.
TEST(Planning, WithoutRowsTheInnerDimensionIsSplit) {
  const Relation x = dense_input("x", {{"b", 1}, {"i", 8192}});
  const Relation w1 = dense_input("w1", {{"i", 8192}, {"h", 8192}}, InputRole::kParameter);
  const Relation w2 = dense_input("w2", {{"h", 8192}, {"o", 1024}}, InputRole::kParameter);
  const Relation first = named(contract(x, w1, {"b", "h"}), "first");
  const Relation second = named(contract(first, w2, {"b", "o"}), "second");
  const Plan found = Planner(std::vector{second}, machine(4)).best();
  EXPECT_THAT(find_operation(found, "first").parts, ElementsAre(Pair("h", 4)));
  EXPECT_THAT(find_operation(found, "second").parts, ElementsAre(Pair("h", 4)));
  EXPECT_TRUE(find_operation(found, "second").aggregates);
}

// By hand: x[b] is split in 2 along b, y = x w is wanted in 2 parts along o. The operand x (b: 8,
// i: 16, 512 bytes) is then needed whole by both: it moves in full, twice.
TEST(Planning, PredictionsCountWhatMoves) {
  const Relation x = dense_input("x", {{"b", 8}, {"i", 16}});
  const Relation y = named(apply("exp", x), "y");
  const Relation w = dense_input("w", {{"i", 16}, {"o", 4}}, InputRole::kParameter);
  const Relation z = named(contract(y, w, {"b", "o"}), "z");
  const Plan rows = Planner(std::vector{z}, machine(2)).by_name({{"b", 2}});
  EXPECT_EQ(find_operation(rows, "z").cost.moved_bytes, 0.0);
  const Plan columns = Planner(std::vector{z}, machine(2)).by_name({{"o", 2}});
  EXPECT_THAT(find_operation(columns, "z").operands,
              ElementsAre(Movement::kBroadcast, Movement::kLocal));
  EXPECT_EQ(find_operation(columns, "z").cost.moved_bytes, 512.0);
  const Plan inner = Planner(std::vector{z}, machine(2)).by_name({{"i", 2}});
  EXPECT_TRUE(find_operation(inner, "z").aggregates);
  EXPECT_EQ(find_operation(inner, "z").cost.moved_bytes, 8 * 4 * 4.0);  // one partial result
}

TEST(Planning, IsNoWorseThanOneSplitForAll) {
  const Relation x = dense_input("x", {{"b", 512}, {"i", 256}});
  const Relation w1 = dense_input("w1", {{"i", 256}, {"h", 1024}}, InputRole::kParameter);
  const Relation w2 = dense_input("w2", {{"h", 1024}, {"i", 256}}, InputRole::kParameter);
  const Relation y = add(x, contract(apply("silu", contract(x, w1, {"b", "h"})), w2, {"b", "i"}));
  const Relation loss = sum(multiply(y, y), {"b", "i"});
  const std::vector<Relation> roots = gradients(loss, std::vector{w1, w2});
  for (const std::int64_t devices : {2, 3, 4, 6, 8, 64}) {
    const Planner planner(roots, machine(devices));
    const double found = planner.best().predicted_seconds();
    for (const char* name : {"b", "h", "i"}) {
      EXPECT_LE(found, planner.by_name({{name, devices}}).predicted_seconds())
          << name << " in " << devices;
    }
  }
}

TEST(Planning, PlansKeepValuesAndUseEveryDevice) {
  const test::Attention a;
  const Relation loss = sum(multiply(a.out, a.out), {"s", "e"});
  std::vector<Relation> roots = gradients(loss, std::vector{a.wq, a.wo});
  roots.push_back(a.out);
  Rng rng(5);
  const auto inputs = test::random_inputs(roots, rng, -1, 1);
  for (const std::int64_t devices : {1, 2, 3, 4, 6, 8}) {
    SCOPED_TRACE(devices);
    const Plan found = Planner(roots, machine(devices)).best();
    test::expect_same_values(roots, found.sharding(), inputs);
    for (const PlannedOperation& operation : found.operations()) {
      const Expression& e = *operation.operation;
      if (e.op != Operator::kJoin || e.type.elements() < 60) continue;
      std::int64_t parts = 1;
      for (const auto& [name, count] : operation.parts) parts *= count;
      EXPECT_GE(parts, devices) << e.type.describe();
    }
  }
}

TEST(Planning, NewValuesAreSplitLikeTheirParameters) {
  const Relation x = dense_input("x", {{"b", 64}, {"i", 32}});
  const Relation w = dense_input("w", {{"i", 32}, {"o", 16}}, InputRole::kParameter);
  const Relation y = contract(x, w, {"b", "o"});
  const Relation gradient = gradients(sum(multiply(y, y), {"b", "o"}), std::vector{w})[0];
  const Relation updated = named(
      join(w, gradient, binary("sgd_update", w->type.dimensions, w->type.dimensions, 0.1)), "new");
  const std::vector<std::pair<Relation, Relation>> updates{{updated, w}};
  const Plan found = Planner(std::vector{updated}, machine(4), updates).best();
  EXPECT_EQ(find_operation(found, "new").parts, find_operation(found, "w").parts);
}

TEST(Planning, ImprovesOnTheStartsThatItIsGiven) {
  const Relation x = dense_input("x", {{"b", 512}, {"i", 256}});
  const Relation w1 = dense_input("w1", {{"i", 256}, {"h", 1024}}, InputRole::kParameter);
  const Relation w2 = dense_input("w2", {{"h", 1024}, {"i", 256}}, InputRole::kParameter);
  const Relation y = contract(apply("silu", contract(x, w1, {"b", "h"})), w2, {"b", "i"});
  const std::vector<Relation> roots =
      gradients(sum(multiply(y, y), {"b", "i"}), std::vector{w1, w2});
  const Planner planner(roots, machine(8));
  for (const Parts& start : {Parts{{"b", 2}, {"h", 4}}, Parts{{"b", 4}, {"i", 2}},
                             Parts{{"b", 2}, {"h", 2}, {"i", 2}}}) {
    EXPECT_LE(planner.best(std::vector{start}).predicted_seconds(),
              planner.by_name(start).predicted_seconds());
  }
}

// No factor of 5 or 7 fits into a dimension of 3, but 6 and 9 parts do.
TEST(Planning, ProductsHavePartsForAllDevicesWhereShapesAllowIt) {
  const Relation x = dense_input("x", {{"b", 3}, {"i", 3}});
  const Relation w = dense_input("w", {{"i", 3}, {"o", 3}}, InputRole::kParameter);
  const Relation y = named(contract(x, w, {"b", "o"}), "y");
  for (const std::int64_t devices : {4, 5, 7, 8, 10, 14}) {
    std::int64_t parts = 1;
    const Plan found = Planner(std::vector{y}, machine(devices)).best();
    for (const auto& [name, count] : find_operation(found, "y").parts) parts *= count;
    EXPECT_GE(parts, devices);
  }
}

// Ways to split grow with the power of dimensions, and names of dimensions with the program.
TEST(Planning, ManyDimensionsAndManyNamesArePlanned) {
  Dimensions many;
  for (int d = 0; d < 26; ++d) many.push_back({"d" + std::to_string(d), 2});
  const Relation z = multiply(dense_input("x", many), dense_input("y", many));
  EXPECT_EQ(Planner(std::vector{z}, machine(16)).best().operations().size(), 3u);

  std::vector<Relation> apart;
  for (int i = 0; i < 200; ++i) {
    const std::string n = std::to_string(i);
    apart.push_back(contract(dense_input("x" + n, {{"a" + n, 64}, {"b" + n, 64}}),
                             dense_input("w" + n, {{"b" + n, 64}, {"c" + n, 64}}),
                             {"a" + n, "c" + n}));
  }
  EXPECT_EQ(Planner(apart, machine(8)).best().operations().size(), 600u);
}

}  // namespace
}  // namespace doppler::tra
