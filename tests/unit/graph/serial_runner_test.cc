#include "doppler/graph/serial_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>

#include "doppler/graph/builder.h"
#include "doppler/graph/graph_json.h"
#include "support/errors.h"
#include "support/graphs.h"
#include "support/kernels.h"

namespace doppler::graph {
namespace {

using kernel::Attributes;
using kernel::Shape;
using test::error_of;
using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

// A graph of kernel calls, written down one node after the other.
class Program {
 public:
  TensorId given(const std::string& name, Shape shape, TensorRole role = TensorRole::kInput) {
    const TensorId tensor = builder_.add_tensor({.name = name, .role = role});
    shapes_[tensor] = std::move(shape);
    return tensor;
  }
  // The results of a kernel, named like it or `name`, `name`.1, ….
  std::vector<TensorId> add(const std::string& name, const std::string& kernel,
                            Attributes attributes, const std::vector<TensorId>& operands,
                            bool output = false) {
    std::vector<Shape> shapes;
    for (const TensorId operand : operands) shapes.push_back(shapes_.at(operand));
    const auto call = test::make_call(kernel, std::move(attributes), std::move(shapes));
    const NodeId node = builder_.add_node({.name = name, .kernel = call});
    for (const TensorId operand : operands) builder_.connect(operand, node);
    std::vector<TensorId> results;
    for (const Shape& shape : call.outputs) {
      const std::string suffix = results.empty() ? "" : "." + std::to_string(results.size());
      results.push_back(
          builder_.add_tensor({.name = name + suffix, .producer = node, .output = output}));
      shapes_[results.back()] = shape;
    }
    return results;
  }
  GraphBuilder& builder() { return builder_; }
  Graph build() { return std::move(builder_).build(); }

 private:
  GraphBuilder builder_;
  std::unordered_map<TensorId, Shape> shapes_;
};

TEST(SerialRunner, RunsInOrderWithOperandsInOrder) {
  Program program;
  const TensorId x = program.given("x", {2}), y = program.given("y", {2});
  const TensorId difference = program.add("difference", "sub", {}, {y, x})[0];
  const TensorId square = program.add("square", "mul", {}, {difference, difference})[0];
  const TensorId sum =
      program.add("sum", "reduce", {{"op", "sum"}, {"spec", "a->"}}, {square}, true)[0];
  program.add("unused", "exp", {}, {square});
  const Graph graph = program.build();
  const SerialRunner<float> runner(graph);
  // (3 - 1)^2 + (5 - 2)^2.
  EXPECT_THAT(runner.run({{x, {1, 2}}, {y, {3, 5}}}),
              UnorderedElementsAre(Pair(sum, ElementsAre(13.0f))));
  EXPECT_EQ(*runner.shape(square), Shape{2});
  EXPECT_THAT(SerialRunner<double>(graph).run({{x, {1, 2}}, {y, {3, 6}}}).at(sum),
              ElementsAre(20.0));
}

TEST(SerialRunner, StopsBetweenNodes) {
  Program program;
  const TensorId x = program.given("x", {2});
  program.add("double", "add", {}, {x, x}, true);
  const Graph graph = program.build();
  const SerialRunner<float> runner(graph);
  std::atomic<bool> flag = false;
  EXPECT_TRUE(runner.run({{x, {1, 2}}}, StopToken(&flag)));
  flag = true;
  EXPECT_FALSE(runner.run({{x, {1, 2}}}, StopToken(&flag)));
}

TEST(SerialRunner, SeveralResultsAndNewParameters) {
  Program program;
  const TensorId p = program.given("p", {1}, TensorRole::kParameter);
  const TensorId m = program.given("m", {1}, TensorRole::kParameter);
  const TensorId v = program.given("v", {1}, TensorRole::kParameter);
  const TensorId g = program.given("g", {1}), step = program.given("step", {});
  const auto results = program.add(
      "adam", "adam_update",
      {{"rate", "0.5"}, {"beta1", "0.5"}, {"beta2", "0.75"}, {"epsilon", "0"}}, {p, g, m, v, step});
  for (std::size_t i = 0; i < 3; ++i) {
    program.builder().set_updates(results[i], std::array{p, m, v}[i]);
  }
  const Graph graph = program.build();
  // m = 0.5 * 4 = 2, v = 0.25 * 16 = 4; corrected 2 / 0.5 = 4 and 4 / 0.25 = 16: p = 1 - 0.5 * 4/4.
  const auto values =
      SerialRunner<double>(graph).run({{p, {1}}, {m, {0}}, {v, {0}}, {g, {4}}, {step, {1}}});
  EXPECT_THAT(values, UnorderedElementsAre(Pair(results[0], ElementsAre(0.5)),
                                           Pair(results[1], ElementsAre(2.0)),
                                           Pair(results[2], ElementsAre(4.0))));
}

TEST(SerialRunner, GivenTensorsMayBeOutputs) {
  GraphBuilder builder;
  const TensorId x = builder.add_tensor({.name = "x", .role = TensorRole::kInput, .output = true});
  const Graph graph = std::move(builder).build();
  EXPECT_THAT(SerialRunner<float>(graph).run({{x, {1, 2}}}),
              UnorderedElementsAre(Pair(x, ElementsAre(1.0f, 2.0f))));
}

// Attention of one head, written out in loops beside.
TEST(SerialRunner, Attention) {
  constexpr std::int64_t kLength = 3, kWidth = 2;
  Program program;
  const TensorId q = program.given("q", {kLength, kWidth}),
                 k = program.given("k", {kLength, kWidth}),
                 v = program.given("v", {kLength, kWidth});
  const auto scores = program.add("scores", "contract", {{"spec", "se,te->st"}}, {q, k});
  const auto masked = program.add("masked", "masked_fill",
                                  {{"rows", "0"}, {"columns", "1"}, {"value", "-1e9"}}, scores);
  const TensorId most =
      program.add("most", "reduce", {{"op", "max"}, {"spec", "st->s"}}, masked)[0];
  const auto shifted = program.add("shifted", "sub", {{"spec", "st,s->st"}}, {masked[0], most});
  const TensorId weights = program.add("weights", "exp", {}, shifted)[0];
  const TensorId total =
      program.add("total", "reduce", {{"op", "sum"}, {"spec", "st->s"}}, {weights})[0];
  const TensorId shares = program.add("shares", "div", {{"spec", "st,s->st"}}, {weights, total})[0];
  const TensorId out =
      program.add("out", "contract", {{"spec", "st,te->se"}}, {shares, v}, true)[0];
  const Graph graph = program.build();

  Rng rng(9);
  const Shape shape = {kLength, kWidth};
  TensorValues<double> given = {{q, test::random_values(rng, shape)},
                                {k, test::random_values(rng, shape)},
                                {v, test::random_values(rng, shape)}};
  const auto result = SerialRunner<double>(graph).run(given).at(out);
  for (std::int64_t s = 0; s < kLength; ++s) {
    double sum = 0.0, expected[kWidth] = {};
    for (std::int64_t t = 0; t <= s; ++t) {
      double score = 0.0;
      for (std::int64_t e = 0; e < kWidth; ++e) {
        score += given[q][s * kWidth + e] * given[k][t * kWidth + e];
      }
      sum += std::exp(score);
      for (std::int64_t e = 0; e < kWidth; ++e) {
        expected[e] += std::exp(score) * given[v][t * kWidth + e];
      }
    }
    for (std::int64_t e = 0; e < kWidth; ++e) {
      EXPECT_NEAR(result[s * kWidth + e], expected[e] / sum, 1e-12);
    }
  }
}

TEST(SerialRunner, RunsAGraphFromAFile) {
  const Graph graph = read_graph_json("g.json", R"({
    "format": "doppler.graph", "version": 1,
    "tensors": [{"name": "x", "role": "input"}, {"name": "y", "output": true}],
    "nodes": [{"name": "twice", "inputs": ["x"], "outputs": ["y"],
               "kernel": {"name": "scale", "attributes": {"factor": "2"},
                          "inputs": [[3]], "outputs": [[3]]}}]})");
  const auto values = SerialRunner<float>(graph).run({{test::find_tensor(graph, "x"), {1, 2, 3}}});
  EXPECT_THAT(values.at(test::find_tensor(graph, "y")), ElementsAre(2.0f, 4.0f, 6.0f));
}

// A graph of one node "n" with this call, one input "x" and one result "n".
Graph one_node(std::optional<kernel::KernelCall> call) {
  GraphBuilder builder;
  const TensorId x = builder.add_tensor({.name = "x", .role = TensorRole::kParameter});
  const NodeId node = builder.add_node({.name = "n", .kernel = std::move(call)});
  builder.connect(x, node);
  builder.add_output(node, std::nullopt);
  return std::move(builder).build();
}

TEST(SerialRunner, RefusesGraphsThatCannotRun) {
  const auto error = [](std::optional<kernel::KernelCall> call) {
    const Graph graph = one_node(std::move(call));
    return error_of([&] { SerialRunner<float> runner(graph); });
  };
  EXPECT_EQ(error(std::nullopt), "node 'n' carries no kernel call, so that it cannot be run");
  EXPECT_EQ(error(test::make_call("add", {}, {{2}, {2}})),
            "node 'n': its kernel call has 2 inputs, but the node has 1");
  EXPECT_EQ(error(kernel::KernelCall{"exp", {}, {{2}}, {{2}, {2}}}),
            "node 'n': its kernel call has 2 outputs, but the node has 1");
  EXPECT_EQ(error(kernel::KernelCall{"exp", {}, {{2}}, {{3}}}),
            "node 'n': kernel exp of [2]: gives [2], not [3]");
  EXPECT_EQ(error(kernel::KernelCall{"expp", {}, {{2}}, {{2}}}),
            "node 'n': unknown kernel 'expp'; closest: exp, add, sub");
}

TEST(SerialRunner, RefusesCallsThatDisagreeOnAShape) {
  GraphBuilder builder;
  const TensorId x = builder.add_tensor({.name = "x", .role = TensorRole::kInput});
  for (const char* name : {"a", "b"}) {
    const std::int64_t size = *name == 'a' ? 2 : 3;
    const NodeId node =
        builder.add_node({.name = name, .kernel = test::make_call("exp", {}, {{size}})});
    builder.connect(x, node);
    builder.add_output(node, std::nullopt);
  }
  const Graph graph = std::move(builder).build();
  EXPECT_EQ(error_of([&] { SerialRunner<float> runner(graph); }),
            "node 'b': takes tensor 'x' as [3], but another call has it as [2]");
}

TEST(SerialRunner, RefusesValuesThatDoNotFit) {
  const Graph graph = one_node(test::make_call("exp", {}, {{2, 3}}));
  const SerialRunner<float> runner(graph);
  const auto error = [&](const TensorValues<float>& given) {
    return error_of([&] { runner.run(given); });
  };
  EXPECT_EQ(error({}), "parameter 'x' has no value");
  EXPECT_EQ(error({{TensorId(0), {1, 2}}}),
            "tensor 'x' is [2,3], so that it has 6 elements, not 2");
  EXPECT_EQ(error({{TensorId(1), {1, 2}}}),
            "tensor 'n' is given a value, but node 'n' computes it");
  EXPECT_EQ(error({{TensorId(7), {}}}), "a value is given for tensor 7, which is not there");
}

}  // namespace
}  // namespace doppler::graph
