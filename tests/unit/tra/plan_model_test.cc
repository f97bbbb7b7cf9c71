#include "doppler/tra/plan_model.h"

#include <gtest/gtest.h>

#include "doppler/tra/operations.h"
#include "doppler/tra/planning.h"
#include "doppler/tra/program.h"
#include "support/tra.h"

namespace doppler::tra {
namespace {

using test::dense_input;

constexpr Machine kMachine{.devices = 4};

// y = x w, and its gradient moves w. Rows of x on four devices: the gradient is a sum of four
// partial results, three of which move, and the new value goes to three other devices. w has 4 x 8
// elements of 4 bytes.
TEST(PlanModel, NewValuesGoWhereverParametersAreUsed) {
  const Relation x = dense_input("x", {{"b", 64}, {"i", 4}});
  const Relation w = dense_input("w", {{"i", 4}, {"o", 8}}, InputRole::kParameter);
  const Relation y = contract(x, w, {"b", "o"});
  const Relation gradient = gradients(sum(y, {"b", "o"}), std::vector{w})[0];
  const Relation updated =
      join(w, gradient, binary("sgd_update", w->type.dimensions, w->type.dimensions, 0.1));
  const std::vector<std::pair<Relation, Relation>> updates{{updated, w}};
  const double bytes = 4 * 8 * 4;
  // The loss is a root as well, so that y is computed.
  const std::vector<Relation> roots{sum(y, {"b", "o"}), updated};
  const double loss = 3 * 4.0;  // four partial sums of one number
  const double with = Planner(roots, kMachine, updates).predict({{"b", 4}}).moved_bytes;
  const double without = Planner(roots, kMachine).predict({{"b", 4}}).moved_bytes;
  EXPECT_EQ(without, loss + 3 * bytes);
  EXPECT_EQ(with, loss + 6 * bytes);
}

// w is stored whole, the product wants it in two parts along o: slices are made once and sent to
// whoever needs them. With two parts along b each is needed twice.
TEST(PlanModel, WhatIsSplitAnewIsSentToAllWhoNeedIt) {
  const Relation x = dense_input("x", {{"b", 64}, {"i", 4}});
  const Relation w = dense_input("w", {{"i", 4}, {"o", 8}}, InputRole::kParameter);
  const Relation y = contract(x, w, {"b", "o"});
  const PlanModel model(std::vector{y}, kMachine, {});
  const PlanModel::Operation& product = model.operations().back();
  ASSERT_TRUE(product.product);
  const PlanModel::Operand& operand = product.operands[1];
  const Choice mine{2, 1, 2};                                     // b, i, o
  EXPECT_EQ(model.cost(operand, mine, {1, 2}).moved_bytes, 0.0);  // stored so
  EXPECT_EQ(model.cost(operand, mine, {1, 1}).moved_bytes, 4 * 8 * 4);
  EXPECT_EQ(model.cost(operand, mine, {1, 1}).nodes, 2.0);
  EXPECT_EQ(model.movement(operand, mine, {1, 1}), Movement::kShuffle);
  EXPECT_EQ(model.movement(operand, mine, {1, 2}), Movement::kBroadcast);
}

// Two parts become three: their boundaries cut the dimension into 2 + 3 - 1 slices, of which three
// concatenations are made.
TEST(PlanModel, PartsThatDoNotDivideEachOtherAreSlicedAndJoined) {
  const Relation x = dense_input("x", {{"b", 64}, {"i", 4}});
  const Relation w = dense_input("w", {{"i", 4}, {"o", 12}}, InputRole::kParameter);
  const PlanModel model(std::vector{contract(x, w, {"b", "o"})}, kMachine, {});
  const PlanModel::Operand& operand = model.operations().back().operands[1];
  EXPECT_EQ(model.cost(operand, {1, 1, 3}, {1, 2}).nodes, 4.0 + 3.0);
  EXPECT_EQ(model.cost(operand, {1, 1, 4}, {1, 6}).nodes, 8.0 + 4.0);
}

// Two products read w, so that each delivers half of its new value.
TEST(PlanModel, UsesOfAParameterShareTheDeliveryOfItsNewValue) {
  const Relation w = dense_input("w", {{"i", 4}, {"o", 8}}, InputRole::kParameter);
  const Relation one = contract(dense_input("x", {{"b", 64}, {"i", 4}}), w, {"b", "o"});
  const Relation two = contract(dense_input("z", {{"c", 64}, {"i", 4}}), w, {"c", "o"});
  const Relation updated =
      join(w, w, binary("sgd_update", w->type.dimensions, w->type.dimensions, 0.1));
  const std::vector<std::pair<Relation, Relation>> updates{{updated, w}};
  const PlanModel model(std::vector{one, two, updated}, kMachine, updates);
  int products = 0;
  for (const PlanModel::Operation& operation : model.operations()) {
    if (!operation.product) continue;
    ++products;
    EXPECT_EQ(operation.operands[0].update_share, 0.0);
    EXPECT_EQ(operation.operands[1].update_share, 0.5);
  }
  EXPECT_EQ(products, 2);
}

// 7 rows in 2 parts: the larger has 4.
TEST(PlanModel, TheLargestPartCounts) {
  const Relation x = dense_input("x", {{"b", 7}, {"i", 1000}});
  const Relation w = dense_input("w", {{"i", 1000}, {"o", 1000}}, InputRole::kParameter);
  Machine machine = kMachine;
  machine.launch_seconds = 0.0;
  machine.memory_bandwidth = 1e30;
  machine.flops = 1e6;
  const PlanModel model(std::vector{contract(x, w, {"b", "o"})}, machine, {});
  EXPECT_DOUBLE_EQ(model.cost(model.operations().back(), {2, 1, 1}).compute_seconds,
                   2.0 * 4 * 1000 * 1000 / 1e6);
}

}  // namespace
}  // namespace doppler::tra
