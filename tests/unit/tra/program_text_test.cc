#include "doppler/tra/language/program_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "doppler/tra/operations.h"
#include "doppler/tra/program.h"
#include "support/tra.h"

namespace doppler::tra {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;
using Inputs = std::map<std::string, Blocks>;

// The output `y` of a program; inputs that have one block each.
std::vector<double> y_of(const std::string& text,
                         const std::map<std::string, std::vector<double>>& inputs) {
  const Program program = parse_program("test.tp", text + "\noutput y\n");
  Inputs blocks;
  for (const auto& [name, values] : inputs) blocks[name] = {values};
  return interpret(std::vector{program.outputs.at(0).relation}, blocks).at(0).at(0);
}

// y = the expression, for x[i: 2, j: 2] = 1 2 3 4, r[j: 2] = 10 20, z[i: 2] = 0.5 -2.
std::vector<double> value_of(const std::string& expression) {
  return y_of("dim i = 2, j = 2, k = 2\ninput x[i, j]\ninput r[j]\ninput z[i]\ny = " + expression,
              {{"x", {1, 2, 3, 4}}, {"r", {10, 20}}, {"z", {0.5, -2}}});
}

auto near(std::vector<double> values) {
  return Pointwise(DoubleNear(1e-12), std::move(values));
}

TEST(ProgramText, DeclaresInOrder) {
  const Program program = parse_program("models/two.layer.tp", R"(
dim batch = 4, in = 3   # a comment
dim hidden = (batch + in * 2 - 2) / 2 - -1
input x[batch, in]
param w[in, hidden]
param b[]
h = relu(einsum(x, w -> [batch, hidden])) + b
loss = mean(h)
output h
)");
  EXPECT_EQ(program.name, "two.layer");
  EXPECT_EQ(program.dimensions, (Dimensions{{"batch", 4}, {"in", 3}, {"hidden", 5}}));
  ASSERT_EQ(program.inputs.size(), 1u);
  EXPECT_EQ(program.inputs[0]->name, "x");
  EXPECT_EQ(program.inputs[0]->role, InputRole::kInput);
  ASSERT_EQ(program.parameters.size(), 2u);
  EXPECT_EQ(program.parameters[0]->role, InputRole::kParameter);
  EXPECT_EQ(program.parameters[1]->type, RelationType{});
  EXPECT_EQ(program.outputs.at(0).name, "h");
  EXPECT_EQ(program.outputs[0].relation.get(), program.values.at("h").get());
  EXPECT_EQ(program.loss->get(), program.values.at("loss").get());
  EXPECT_EQ(test::roots_of(program).size(), 2u);
}

TEST(ProgramText, SizesCanBeReplaced) {
  const std::string text = "dim n = 8\ndim half = n / 2\ninput x[n, half]\noutput x\n";
  EXPECT_EQ(parse_program("p.tp", text, {{"n", 6}}).dimensions,
            (Dimensions{{"n", 6}, {"half", 3}}));
  // 7 / 2 is not evaluated where the size is given.
  EXPECT_EQ(parse_program("p.tp", text, {{"n", 7}, {"half", 2}}).dimensions,
            (Dimensions{{"n", 7}, {"half", 2}}));
}

TEST(ProgramText, ArithmeticOnNumbers) {
  // x has sum 10, so that y = sum(x) * number shows the number.
  const auto number = [](const std::string& text) {
    return y_of("dim i = 4\ninput x[i]\ny = sum(x) * (" + text + ")", {{"x", {1, 2, 3, 4}}})[0] /
           10;
  };
  EXPECT_DOUBLE_EQ(number("1 + 2 * 3 - 8 / 4 / 2"), 6.0);
  EXPECT_DOUBLE_EQ(number("-(1 - 3) * -2.5e-1"), -0.5);
  EXPECT_DOUBLE_EQ(number("i / 8"), 0.5);  // a dimension is its size
  EXPECT_DOUBLE_EQ(number("1 / sqrt(i)"), 0.5);
  EXPECT_DOUBLE_EQ(number("maximum(3, i)"), 4.0);
  EXPECT_DOUBLE_EQ(number("exp(0) + log(1) + relu(-3) + tanh(0) + gelu(0) + silu(0)"), 1.0);
  EXPECT_DOUBLE_EQ(number("sigmoid(0) + rsqrt(4) + reciprocal(.25)"), 5.0);
}

TEST(ProgramText, ArithmeticOnValues) {
  EXPECT_THAT(value_of("x + x"), near({2, 4, 6, 8}));
  EXPECT_THAT(value_of("x - r"), near({-9, -18, -7, -16}));  // along i
  EXPECT_THAT(value_of("x * z"), near({0.5, 1, -6, -8}));    // along j
  EXPECT_THAT(value_of("x / r"), near({0.1, 0.1, 0.3, 0.2}));
  EXPECT_THAT(value_of("r + z"), near({10.5, 8, 20.5, 18}));  // [j, i]
  EXPECT_THAT(value_of("2 + x"), near({3, 4, 5, 6}));
  EXPECT_THAT(value_of("2 - x"), near({1, 0, -1, -2}));
  EXPECT_THAT(value_of("x - 2"), near({-1, 0, 1, 2}));
  EXPECT_THAT(value_of("x * 2"), near({2, 4, 6, 8}));
  EXPECT_THAT(value_of("12 / x"), near({12, 6, 4, 3}));
  EXPECT_THAT(value_of("x / 2"), near({0.5, 1, 1.5, 2}));
  EXPECT_THAT(value_of("-x * -x"), near({1, 4, 9, 16}));
  EXPECT_THAT(value_of("x * j"), near({2, 4, 6, 8}));
}

TEST(ProgramText, FunctionsOfEachElement) {
  EXPECT_THAT(value_of("exp(x)"), near({std::exp(1), std::exp(2), std::exp(3), std::exp(4)}));
  EXPECT_THAT(value_of("log(x)"), near({0, std::log(2), std::log(3), std::log(4)}));
  EXPECT_THAT(value_of("sqrt(x)"), near({1, std::sqrt(2), std::sqrt(3), 2}));
  EXPECT_THAT(value_of("rsqrt(x * x)"), near({1, 1. / 2, 1. / 3, 1. / 4}));
  EXPECT_THAT(value_of("reciprocal(x)"), near({1, 1. / 2, 1. / 3, 1. / 4}));
  EXPECT_THAT(value_of("relu(z)"), near({0.5, 0}));
  EXPECT_THAT(value_of("sigmoid(z)"), near({1 / (1 + std::exp(-0.5)), 1 / (1 + std::exp(2))}));
  EXPECT_THAT(value_of("silu(z)"), near({0.5 / (1 + std::exp(-0.5)), -2 / (1 + std::exp(2))}));
  EXPECT_THAT(value_of("tanh(z)"), near({std::tanh(0.5), std::tanh(-2)}));
  EXPECT_THAT(value_of("gelu(z)"), near({0.25 * (1 + std::erf(0.5 / std::sqrt(2))),
                                         -1 * (1 + std::erf(-2 / std::sqrt(2)))}));
}

TEST(ProgramText, ReductionsAndMaximum) {
  EXPECT_THAT(value_of("sum(x, j)"), near({3, 7}));
  EXPECT_THAT(value_of("sum(x, i, j)"), near({10}));
  EXPECT_THAT(value_of("sum(x)"), near({10}));
  EXPECT_THAT(value_of("mean(x, i)"), near({2, 3}));
  EXPECT_THAT(value_of("mean(x)"), near({2.5}));
  EXPECT_THAT(value_of("max(x, i)"), near({3, 4}));
  EXPECT_THAT(value_of("max(-x)"), near({-1}));
  EXPECT_THAT(value_of("maximum(x, r / 5)"), near({2, 4, 3, 4}));
  EXPECT_THAT(value_of("maximum(x, 2.5)"), near({2.5, 2.5, 3, 4}));
  EXPECT_THAT(value_of("maximum(2.5, x)"), near({2.5, 2.5, 3, 4}));
}

TEST(ProgramText, Products) {
  EXPECT_THAT(value_of("einsum(x, r -> [i])"), near({50, 110}));  // 10 + 40, 30 + 80
  EXPECT_THAT(value_of("einsum(x, r -> [j, i])"), near({10, 30, 40, 80}));
  EXPECT_THAT(value_of("einsum(x, x -> [])"), near({30}));  // 1 + 4 + 9 + 16
  EXPECT_THAT(value_of("dot(x, r, j)"), near({50, 110}));
  EXPECT_THAT(value_of("dot(z, x, i)"), near({-5.5, -7}));  // .5 - 6, 1 - 8
  EXPECT_THAT(value_of("dot(x, r, i, j)"), near({160}));
  // x times its own transpose: k stands for the other rows.
  EXPECT_THAT(value_of("einsum(x, x[k, j] -> [i, k])"), near({5, 11, 11, 25}));
}

TEST(ProgramText, ShapesPositionsAndTables) {
  EXPECT_THAT(value_of("transpose(x -> [j, i])"), near({1, 3, 2, 4}));
  EXPECT_THAT(value_of("x[j, i] + 0 * r"), near({1, 2, 3, 4}));  // renamed in place: [j, i]
  EXPECT_THAT(value_of("x[fresh, j] * 0 + 1"), near({1, 1, 1, 1}));
  EXPECT_THAT(value_of("(x + x)[k, j]"), near({2, 4, 6, 8}));
  EXPECT_THAT(value_of("causal(x, i, j, -7)"), near({1, -7, 3, 4}));
  EXPECT_THAT(value_of("causal(x, j, i, -7)"), near({1, 2, -7, 4}));
  // Position 0 is not turned, position 1 by 1 radian (the only pair turns at rate 1).
  EXPECT_THAT(value_of("rotary(x, i, j)"),
              near({1, 2, 3 * std::cos(1) - 4 * std::sin(1), 4 * std::cos(1) + 3 * std::sin(1)}));
  EXPECT_THAT(y_of("dim s = 1 + 1, d = 4\ninput x[s, d]\ny = rotary(x, s, d, 16)",
                   {{"x", {0, 0, 0, 0, 1, 1, 0, 0}}}),
              near({0, 0, 0, 0, std::cos(1), std::cos(0.25), std::sin(1), std::sin(0.25)}));
  EXPECT_THAT(y_of("dim v = 3, e = 2, s = 4\nparam table[v, e]\ninput ids[s]\n"
                   "y = gather(table, ids)",
                   {{"table", {1, 2, 3, 4, 5, 6}}, {"ids", {2, 0, 0, 1}}}),
              near({5, 6, 1, 2, 1, 2, 3, 4}));
}

TEST(ProgramText, FunctionsTakeValuesDimensionsAndNumbers) {
  const std::string text = R"(
dim i = 2, j = 2
input x[i, j]
y = affine(affine(x, i, 2), j, shift_of(3))   # functions can stand behind their use

fn affine(a, along, factor)
  a = a * factor                               # arguments can be assigned anew
  return a - mean(a, along)
end
fn shift_of(n)
  m = n
  repeat 2 as k
    m = m + k
  end
  return m / j
end
)";
  // x = 1 2 3 4. Times 2, minus the column means 4 6: -2 -2 2 2. Times (3 + 0 + 1) / 2 = 2, minus
  // the row means -4 4: 0.
  EXPECT_THAT(y_of(text, {{"x", {1, 2, 3, 4}}}), near({0, 0, 0, 0}));
  EXPECT_THAT(y_of("dim i = 2\ninput x[i]\nfn same(d)\n  return d\nend\ny = sum(x, same(i))",
                   {{"x", {1, 2}}}),
              near({3}));
}

TEST(ProgramText, FunctionsOfTheProgramHideThoseOfTheLibrary) {
  // attention still uses the library's softmax.
  const std::string text = R"(
dim s = 1, t = 1, d = 1
input x[s, d]
fn softmax(x, d)
  return x * 0
end
y = attention(x, x[t, d], x[t, d], s, t, d) + softmax(x, d)
)";
  EXPECT_THAT(y_of(text, {{"x", {3}}}), near({3}));
}

TEST(ProgramText, RepeatsBuildLayers) {
  const std::string text = R"(
dim layers = 2, n = 2
input x[n]
h = x
repeat layers as i
  param w{i}[n]
  h = h * w{i} + i
  kept{i} = h * 2
  repeat 2 as j
    h = h + 1
    z{i}_{j} = h * (j + 2)
  end
end
repeat 0 as i
  nonsense = there_is_no_such_name
end
last = layers - 1
output h, kept{last}
)";
  const Program program = parse_program("p.tp", text);
  ASSERT_EQ(program.parameters.size(), 2u);
  EXPECT_EQ(program.parameters[1]->name, "w1");
  EXPECT_EQ(parse_program("p.tp", text, {{"layers", 5}}).parameters.size(), 5u);
  EXPECT_EQ(program.outputs.at(1).name, "kept1");
  const Inputs inputs{{"x", {{1, 2}}}, {"w0", {{3, 4}}}, {"w1", {{5, 6}}}};
  // Layer 0: 3 8, then 5 10. Layer 1: 26 61, kept 52 122, then 28 63.
  const std::vector<Blocks> values = interpret(test::roots_of(program), inputs);
  EXPECT_THAT(values[0][0], ElementsAre(28, 63));
  EXPECT_THAT(values[1][0], ElementsAre(52, 122));
  EXPECT_TRUE(program.values.contains("z1_1"));
  // The number is part of the operation's name, wherever it is not part of the variable's.
  EXPECT_EQ(program.values.at("h")->name, "i1.j1.h");
  EXPECT_EQ(program.values.at("kept1")->name, "kept1");
  EXPECT_EQ(program.values.at("z0_1")->name, "z0_1");
}

TEST(ProgramText, NamesOperationsAfterVariables) {
  const Program program = parse_program("p.tp", R"(
dim batch = 2, classes = 3
input logits[batch, classes]
input target[batch, classes]
p = softmax(logits, classes)
alias = p
loss = mean(-sum(target * log(softmax(p[batch, classes], classes)), classes))
output alias
)");
  std::vector<std::string> found;
  for (const Relation& relation : in_order(test::roots_of(program))) {
    if (relation->op != Operator::kInput) found.push_back(relation->name);
  }
  EXPECT_THAT(found, ElementsAre("p.e.max", "p.e.sub", "p.e", "p.sum", "p",  //
                                 "loss.softmax.e.max", "loss.softmax.e.sub", "loss.softmax.e",
                                 "loss.softmax.sum", "loss.softmax", "loss.log", "loss.mul",
                                 "loss.sum", "loss.scale", "loss.sum", "loss"));
  EXPECT_EQ(program.outputs[0].name, "alias");
  EXPECT_EQ(program.outputs[0].relation->name, "p");
}

TEST(ProgramText, SparseRelationsAndKeys) {
  const Program program = parse_program("p.tp", R"(
dim nodes = 3, m = 1, n = 1, f = 2
sparse adjacency<i: nodes, j: nodes>[m, n] = (0, 1) (1, 1),
  (nodes - 1, 0)   # a list goes on behind a comma
input features<j: 3>[n, f]
h = aggregate(einsum(adjacency, features -> [m, f]), j)
# Once more: what h has for i is what the neighbours j have.
again = aggregate(einsum(adjacency, h<j>[n, f] -> [m, f]), j)
loss = sum(aggregate(again, i))
output h
)");
  const RelationType& type = program.inputs.at(0)->type;
  EXPECT_EQ(type.keys, KeySet({{"i", 3}, {"j", 3}}, std::vector<Key>{{0, 1}, {1, 1}, {2, 0}}));
  EXPECT_EQ(names(type.dimensions), (std::vector<std::string>{"m", "n"}));
  const Inputs inputs{{"adjacency", {{2}, {3}, {5}}}, {"features", {{1, 2}, {10, 20}, {7, 7}}}};
  const std::vector<Blocks> values = interpret(test::roots_of(program), inputs);
  // h(0) = 2 f(1), h(1) = 3 f(1), h(2) = 5 f(0)
  EXPECT_THAT(values[0], ElementsAre(ElementsAre(20, 40), ElementsAre(30, 60), ElementsAre(5, 10)));
  // 2 h(1) + 3 h(1) + 5 h(0) = 5 * (30 + 60) + 5 * (20 + 40)
  EXPECT_THAT(values[1], ElementsAre(ElementsAre(750)));
}

TEST(ProgramText, KeysPassThroughFunctions) {
  const Program program = parse_program("p.tp", R"(
dim n = 2
input x<a: 2, b: 2>[n]
fn total(value, key)
  return aggregate(value, key)
end
y = total(x, a)
z = aggregate(x<c, b>, c, b)
output y, z
)");
  const Inputs inputs{{"x", {{1, 1}, {2, 2}, {3, 3}, {4, 5}}}};
  const std::vector<Blocks> values = interpret(test::roots_of(program), inputs);
  EXPECT_THAT(values[0], ElementsAre(ElementsAre(4, 4), ElementsAre(6, 7)));
  EXPECT_THAT(values[1], ElementsAre(ElementsAre(10, 11)));
}

TEST(ProgramText, LinesGoOnWhereSomethingMustFollow) {
  EXPECT_THAT(y_of("\xef\xbb\xbf# with a byte order mark\r\n\r\n"
                   "dim i =  # the size\r\n  2,\r\n\tj = 3\r\ninput x[i,\n j]\n"
                   "y = sum(x,\n\n   j # and a comment\n) +\n  1",
                   {{"x", {1, 2, 3, 4, 5, 6}}}),
              near({7, 16}));
}

// The functions of operations.h build the same program in C++.
TEST(ProgramText, TheSameInCpp) {
  const auto dense = [](const char* name, Dimensions dimensions, InputRole role) {
    return input(name, {KeySet(), std::move(dimensions)}, role);
  };
  const Dimension batch{"batch", 2}, in{"in", 3}, classes{"classes", 2};
  Program built;
  built.name = "linear";
  built.dimensions = {batch, in, classes};
  built.inputs = {dense("x", {batch, in}, InputRole::kInput),
                  dense("target", {batch, classes}, InputRole::kInput)};
  built.parameters = {dense("w", {in, classes}, InputRole::kParameter)};
  const Relation p =
      named(contract(built.inputs[0], built.parameters[0], {"batch", "classes"}), "p");
  const Relation error = named(subtract(p, built.inputs[1]), "error");
  built.outputs = {{"p", p}};
  built.loss = named(mean(multiply(error, error), {"batch", "classes"}), "loss");

  const Program read = parse_program("linear.tp", R"(
dim batch = 2, in = 3, classes = 2
input x[batch, in]
input target[batch, classes]
param w[in, classes]
p = einsum(x, w -> [batch, classes])
error = p - target
loss = mean(error * error)
output p
)");
  EXPECT_EQ(read.name, built.name);
  EXPECT_EQ(read.dimensions, built.dimensions);
  Rng rng(1);
  const auto inputs = test::random_inputs(test::roots_of(built), rng);
  EXPECT_EQ(interpret(test::roots_of(read), inputs), interpret(test::roots_of(built), inputs));
  test::expect_gradients(*read.loss, read.parameters, inputs);
}

}  // namespace
}  // namespace doppler::tra
