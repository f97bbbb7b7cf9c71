#include "doppler/tra/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/base/error.h"
#include "doppler/tra/operations.h"
#include "support/tra.h"

namespace doppler::tra {
namespace {

using test::dense_input;
using test::expect_gradients;
using test::random_inputs;

// A loss that weighs every element of a result differently, so that no error cancels out.
Relation weighted(const Relation& a) {
  if (a->type.dimensions.empty() && a->type.keys.rank() == 0) return a;
  const Relation weights = input("weights", a->type);
  Relation product = multiply(a, weights);
  std::vector<std::string> plain;
  for (const KeyComponent& component : product->type.keys.components()) {
    if (find(product->type.dimensions, component.name) < 0) plain.push_back(component.name);
  }
  product = sum(product, names(product->type.dimensions));
  return plain.empty() ? product : aggregate(product, plain, Combine::kAdd);
}

void check(const Relation& result, const std::vector<Relation>& wrt, std::uint64_t seed = 1) {
  const Relation loss = weighted(result);
  Rng rng(seed);
  const Relation roots[] = {loss};
  expect_gradients(loss, wrt, random_inputs(roots, rng));
}

const Relation kA = dense_input("a", {{"i", 3}, {"j", 2}});
const Relation kB = dense_input("b", {{"j", 2}, {"k", 4}});
const Relation kSame = dense_input("same", {{"i", 3}, {"j", 2}});
const Relation kRow = dense_input("row", {{"j", 2}});

TEST(Gradient, OfContractions) {
  check(contract(kA, kB, {"i", "k"}), {kA, kB});
  check(contract(kA, kB, {"k", "j", "i"}), {kA, kB});
  check(contract(kA, kB, {"j"}), {kA, kB});  // i and k are summed in one operand only
  check(contract(kA, kA, {"i"}), {kA});
}

TEST(Gradient, OfElementwiseOperations) {
  for (const auto operation : {add, subtract, multiply, divide, maximum}) {
    check(operation(kA, kSame), {kA, kSame});
    check(operation(kA, kRow), {kA, kRow});
    check(operation(kRow, kA), {kA, kRow});
    check(operation(kA, kB), {kA, kB});
  }
}

TEST(Gradient, OfFunctionsAndTheirDerivatives) {
  for (const char* f :
       {"exp", "log", "sqrt", "rsqrt", "relu", "silu", "gelu", "sigmoid", "tanh", "reciprocal"}) {
    SCOPED_TRACE(f);
    const Relation y = apply(f, kA);
    check(y, {kA});
    // The gradient is an expression: differentiate a function of it once more.
    const Relation once = gradients(sum(y, {"i", "j"}), std::vector{kA})[0];
    check(multiply(once, once), {kA});
  }
  check(scale(shift(kA, 2.0), -3.0), {kA});
}

TEST(Gradient, OfReductionsAndShapes) {
  check(sum(kA, {"i"}), {kA});
  check(mean(kA, {"i", "j"}), {kA});
  check(max(kA, {"j"}), {kA});
  check(conform(kA, {{"j", 2}, {"k", 5}, {"i", 3}}), {kA});
  check(multiply(rename(kA, {{"i", "m"}}), kB), {kA, kB});
  const Relation x = dense_input("x", {{"s", 3}, {"h", 2}, {"d", 4}});
  check(rotary(x, "s", "d"), {x});
  check(rotary(x, "s", "h"), {x});
  const Relation p = dense_input("p", {{"s", 3}, {"t", 3}});
  check(causal_fill(p, "s", "t", -7.0), {p});
}

TEST(Gradient, OfGatherAndScatter) {
  const Relation table = dense_input("table", {{"v", 5}, {"h", 2}});
  const Relation index = dense_input("index", {{"s", 4}});
  const Relation loss = weighted(gather(table, index));
  Rng rng(3);
  const Relation roots[] = {loss};
  auto inputs = random_inputs(roots, rng);
  inputs.at("index")[0] = {3, 0, 3, 4};
  expect_gradients(loss, {table}, inputs);

  const Relation values = dense_input("values", {{"s", 4}, {"h", 2}});
  const Relation scattered = weighted(scatter_add(index, values, {"v", 5}));
  const Relation scattered_roots[] = {scattered};
  auto scattered_inputs = random_inputs(scattered_roots, rng);
  scattered_inputs.at("index")[0] = {3, 0, 3, 4};
  expect_gradients(scattered, {values}, scattered_inputs);
}

TEST(Gradient, OfEveryOperatorOnKeys) {
  const Relation x = dense_input("x", {{"i", 5}, {"j", 4}});
  check(tile(x, "i", 2), {x});
  check(concat(tile(x, "j", 3), "j"), {x});
  const Relation keyed = input("keyed", {KeySet({{"p", 3}}), {{"i", 2}}});
  check(aggregate(keyed, {"p"}, Combine::kAdd), {keyed});
  check(aggregate(keyed, {"p"}, Combine::kMax), {keyed});
  check(rekey(keyed, {{"p", "q"}}, {{"r", 2}}), {keyed});
  check(filter(keyed, [](auto key) { return key[0] != 1; }), {keyed});
  check(extend(filter(keyed, [](auto key) { return key[0] != 1; }), keyed->type.keys), {keyed});
  check(add(keyed, filter(keyed, [](auto key) { return key[0] > 0; })), {keyed});
}

// A graph convolution: adjacency blocks for some pairs (i, j) only.
TEST(Gradient, OfASparseJoin) {
  const Relation adjacency =
      input("adjacency", {KeySet({{"i", 3}, {"j", 3}}, std::vector<Key>{{0, 1}, {1, 1}, {2, 0}}),
                          {{"m", 2}, {"n", 2}}});
  const Relation features = input("features", {KeySet({{"j", 3}}), {{"n", 2}, {"f", 3}}});
  const Relation weights = dense_input("w", {{"f", 3}, {"g", 2}});
  const Relation gathered =
      aggregate(contract(adjacency, features, {"m", "f"}), {"j"}, Combine::kAdd);
  check(apply("relu", contract(gathered, weights, {"m", "g"})), {adjacency, features, weights});
}

// Of splits of what a plain contraction would give: the whole does not change.
TEST(Gradient, OfSplitContractions) {
  const Relation a = tile(tile(kA, "i", 2), "j", 2);
  const Relation b = tile(kB, "j", 2);
  const Relation product = contract(a, b, {"i", "k"});
  check(concat(product, "i"), {kA, kB});
}

TEST(Gradient, SecondDerivativesOfAPolynomial) {
  // f = x^3, f' = 3 x^2, f'' = 6 x, f''' = 6
  const Relation x = dense_input("x", {});
  Relation f = multiply(multiply(x, x), x);
  const std::map<std::string, Blocks> at{{"x", {{1.5}}}};
  for (const double expected : {3 * 1.5 * 1.5, 6 * 1.5, 6.0}) {
    f = gradients(f, std::vector{x})[0];
    EXPECT_DOUBLE_EQ(interpret(std::vector{f}, at)[0][0][0], expected);
  }
}

// f = sum over i of (sum over j of w[i, j] x[j])^3: its gradients' gradients, and once more.
TEST(Gradient, SecondDerivativesOfAPolynomialOfTensors) {
  const Relation w = dense_input("w", {{"i", 3}, {"j", 2}});
  const Relation x = dense_input("x", {{"j", 2}});
  const Relation y = contract(w, x, {"i"});
  const std::vector<Relation> wrt{w, x};
  for (const Relation& first : gradients(sum(multiply(multiply(y, y), y), {"i"}), wrt)) {
    check(first, wrt);
    const Relation squares = sum(multiply(first, first), names(first->type.dimensions));
    for (const Relation& second : gradients(squares, wrt)) check(second, wrt);
  }
}

TEST(Gradient, OfWhatTheLossDoesNotNeedIsZero) {
  const Relation loss = sum(kA, {"i", "j"});
  const Relation zero = gradients(loss, std::vector{kB})[0];
  EXPECT_EQ(zero->type, kB->type);
  EXPECT_THAT(interpret(std::vector{zero}, {})[0][0], testing::Each(0.0));
}

TEST(Gradient, RefusesWhatHasNone) {
  EXPECT_THROW(gradients(kA, std::vector{kA}), InputError);
  const Relation x = dense_input("x", {});
  Relation f = apply("silu", x);
  f = gradients(f, std::vector{x})[0];
  f = gradients(f, std::vector{x})[0];
  try {
    gradients(f, std::vector{x});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "the third derivative of silu is not there");
  }
}

}  // namespace
}  // namespace doppler::tra
