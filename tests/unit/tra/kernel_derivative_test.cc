// Every kernel's derivative: gradients as the kernels compute them, in double, against central
// differences of what the kernels compute. A kernel that is added to the registry without an entry
// here fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "doppler/tra/operations.h"
#include "doppler/tra/program.h"
#include "support/errors.h"
#include "support/lowered.h"
#include "support/tra.h"

namespace doppler::tra {
namespace {

using test::dense_input;

// Something whose graph has calls of the kernel.
struct KernelTrial {
  Relation result;
  Sharding sharding = test::shard_by_name({});
};

const Relation kLeftOperand = dense_input("a", {{"i", 5}, {"j", 4}});
const Relation kRightOperand = dense_input("b", {{"i", 5}, {"j", 4}});
const Relation kRowOperand = dense_input("row", {{"j", 4}});
const Relation kTable = dense_input("table", {{"v", 3}, {"h", 2}});
const Relation kIndex = dense_input("index", {{"s", 4}});
const Relation kValues = dense_input("values", {{"s", 4}, {"h", 2}});

Relation elementwise(const std::string& kernel, const Relation& a, const Relation& b,
                     double number = 0.0) {
  return join(a, b, binary(kernel, a->type.dimensions, b->type.dimensions, number));
}

// Inputs whole and operations in parts, or the other way round.
std::int64_t split_operations(const Expression& e, const std::string&) {
  return e.op == Operator::kInput ? 1 : 2;
}
std::int64_t split_inputs(const Expression& e, const std::string&) {
  return e.op == Operator::kInput ? 2 : 1;
}

// By kernel; functions and their derivatives are added by name.
std::multimap<std::string, KernelTrial> trials() {
  const Sharding in_parts = test::shard_by_name({{"i", 3}, {"j", 2}});
  const Relation x = dense_input("x", {{"s", 3}, {"h", 2}, {"d", 4}});
  const Relation whole = fill({KeySet(), {{"j", 4}}}, 0.7);
  std::multimap<std::string, KernelTrial> result = {
      {"contract", {contract(kLeftOperand, kRowOperand, {"i"})}},
      {"contract", {contract(kLeftOperand, kRightOperand, {"j", "i"})}},
      {"add_n", {contract(kLeftOperand, kRightOperand, {"i"}), in_parts}},
      {"max_n", {max(kLeftOperand, {"i"}), in_parts}},
      {"scale", {scale(kLeftOperand, -3.0)}},
      {"shift", {multiply(kLeftOperand, shift(kLeftOperand, 2.0))}},
      {"reduce", {sum(kLeftOperand, {"i"})}},
      {"reduce", {max(kLeftOperand, {"j"})}},
      {"permute", {conform(kLeftOperand, {{"j", 4}, {"i", 5}})}},
      {"broadcast", {conform(kLeftOperand, {{"j", 4}, {"k", 3}, {"i", 5}})}},
      {"fill", {multiply(kLeftOperand, whole)}},
      {"slice", {apply("tanh", kLeftOperand), split_operations}},
      {"concat", {apply("tanh", kLeftOperand), split_inputs}},
      {"rotary", {rotary(x, "s", "d")}},
      {"rotary", {rotary(x, "s", "h", 100.0, true)}},
      {"masked_fill", {causal_fill(kLeftOperand, "i", "j", -7.0)}},
      {"gather", {gather(kTable, kIndex)}},
      {"scatter_add", {scatter_add(kIndex, kValues, {"v", 3})}},
      {"sgd_update", {elementwise("sgd_update", kLeftOperand, kRightOperand, 0.3)}},
  };
  for (const char* name : {"add", "sub", "mul", "div", "max", "equal", "greater_equal"}) {
    result.insert({name, {elementwise(name, kLeftOperand, kRightOperand)}});
    result.insert({name, {elementwise(name, kRowOperand, kLeftOperand)}});
  }
  for (const std::string& name : kernel::default_kernels().names()) {
    if (is_function(name)) result.insert({name, {apply(name, kLeftOperand)}});
    const std::size_t stem = name.size() - std::min(name.size(), std::size_t{5});
    if (name.ends_with("_grad") && is_function(name.substr(0, stem))) {
      result.insert({name, {elementwise(name, kLeftOperand, kRightOperand)}});
    }
  }
  return result;
}

// The relations as one graph, with whole results by run().
class Graph {
 public:
  Graph(const std::vector<Relation>& roots, const Sharding& sharding)
      : sharded_(shard(roots, sharding)) {
    std::vector<Root> named_roots;
    for (const Relation& relation : sharded_) named_roots.push_back({relation, "root"});
    lowered_ = lower(named_roots, kernel::default_kernels(), "test");
  }

  std::vector<std::vector<double>> run(const test::Values& inputs) const {
    const test::LoweredRun<double> done(*lowered_, inputs);
    std::vector<std::vector<double>> result;
    for (std::size_t r = 0; r < sharded_.size(); ++r) {
      result.push_back(test::whole(sharded_[r]->type, done.root(r)));
    }
    return result;
  }

  bool calls(const std::string& kernel) const {
    const auto nodes = lowered_->graph.topological_order();
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](NodeId node) { return lowered_->graph.op_kind(node) == kernel; });
  }

 private:
  std::vector<Relation> sharded_;
  std::optional<Lowered> lowered_;
};

void expect_derivative(const std::string& kernel, const KernelTrial& trial) {
  const Relation weights = dense_input("weights", trial.result->type.dimensions);
  const Relation loss = sum(multiply(trial.result, weights), names(trial.result->type.dimensions));
  std::vector<Relation> wrt;
  for (const Relation& relation : in_order(std::span(&trial.result, 1))) {
    if (relation->op == Operator::kInput && relation->name != "index") wrt.push_back(relation);
  }
  Rng rng(17);
  test::Values inputs = test::random_inputs(std::span(&loss, 1), rng);
  if (inputs.contains("index")) inputs.at("index")[0] = {2, 0, 2, 1};

  const Graph forward({loss}, trial.sharding);
  EXPECT_TRUE(forward.calls(kernel));
  const auto found = Graph(gradients(loss, wrt), trial.sharding).run(inputs);
  constexpr double kStep = 1e-5;
  for (std::size_t w = 0; w < wrt.size(); ++w) {
    for (std::size_t i = 0; i < found[w].size(); ++i) {
      const auto moved = [&](double by) {
        test::Values there = inputs;
        there.at(wrt[w]->name)[0][i] += by;
        return forward.run(there)[0][0];
      };
      const double expected = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      EXPECT_NEAR(found[w][i], expected, 1e-6 * std::max(1.0, std::abs(expected)))
          << wrt[w]->name << " element " << i;
    }
  }
}

TEST(KernelDerivative, OfEveryKernel) {
  const std::multimap<std::string, KernelTrial> all = trials();
  for (const std::string& kernel : kernel::default_kernels().names()) {
    SCOPED_TRACE(kernel);
    // No expression becomes a call of these.
    if (kernel == "adam_update" || kernel == "pad") continue;
    if (kernel.ends_with("_grad2")) {
      // These are derivatives, checked as such; theirs would be third ones.
      const Relation loss = sum(elementwise(kernel, kLeftOperand, kRightOperand), {"i", "j"});
      EXPECT_THAT(test::error_of([&] { gradients(loss, std::vector{kLeftOperand}); }),
                  testing::StartsWith("the third derivative of "));
      continue;
    }
    const auto [begin, end] = all.equal_range(kernel);
    EXPECT_NE(begin, end) << "no check of this kernel's derivative";
    for (auto trial = begin; trial != end; ++trial) expect_derivative(kernel, trial->second);
  }
}

}  // namespace
}  // namespace doppler::tra
