// Compiled graphs compute what the dense interpreter gives for the program, whichever way it is
// split: every workload and the example programs, forward and training.
//
// Graphs run in float, the interpreter in double. Each result is compared on its own, by the
// largest difference over the largest magnitude of what is expected (test::relative_error).
#include "doppler/tra/computation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>

#include "doppler/graph/graph_json.h"
#include "doppler/tra/language/program_text.h"
#include "doppler/tra/lowering.h"
#include "support/graphs.h"
#include "support/lowered.h"
#include "support/programs.h"
#include "support/tra.h"

namespace doppler::tra {
namespace {

using test::LoweredRun;
using test::Values;

constexpr double kTolerance = 1e-4;

// One way to split a program.
struct Way {
  std::string name;
  test::CompileSetup options;
};

// Without a split, with all dimensions split in turn by a few numbers (100: every element by
// itself), with one at a time, and as planned.
std::vector<Way> ways(const Program& program) {
  std::vector<Way> result{{"unsplit", {.parts = Parts{}}}};
  const std::vector<std::string> dimensions = test::working_dimensions(test::roots_of(program));
  using Counts = std::vector<std::int64_t>;
  for (const Counts& counts :
       {Counts{2}, Counts{3}, Counts{2, 3, 4}, Counts{5, 1, 2}, Counts{100}}) {
    Parts parts;
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      parts[dimensions[d]] = counts[d % counts.size()];
    }
    result.push_back({fmt::format("dimensions in {}", fmt::join(counts, ", ")), {.parts = parts}});
  }
  for (const std::string& dimension : dimensions) {
    result.push_back({dimension + " in 4", {.parts = Parts{{dimension, 4}}}});
  }
  for (const std::int64_t devices : {1, 2, 3, 4, 7}) {
    result.push_back({fmt::format("planned for {}", devices), {.machine = {.devices = devices}}});
  }
  return result;
}

class CompiledProgram : public testing::TestWithParam<std::string> {
 protected:
  const Program program_ = test::small_program(GetParam());
  Rng rng_{11};
  const Values inputs_ = test::program_inputs(program_, rng_);

  void expect_training(const Way& way, const Values& before, const Values& after, double loss) {
    SCOPED_TRACE(way.name);
    const compile::FoundPlan compiled = test::compile_program(program_, way.options);
    const LoweredRun<float> run(compiled.lowered, before);
    EXPECT_LT(test::relative_error(run.root(0), {{loss}}), kTolerance);
    const Values updated = run.updated();
    const bool adam = way.options.optimizer == Optimizer::kAdam;
    EXPECT_EQ(updated.size(), program_.parameters.size() * (adam ? 3 : 1) + (adam ? 1 : 0));
    for (const auto& [name, blocks] : updated) {
      EXPECT_LT(test::relative_error(blocks, after.at(name)), kTolerance) << name;
      if (adam) continue;  // moments change little, parameters by the rate
      // What was added, too: a wrong gradient must not hide behind a large parameter.
      EXPECT_LT(test::relative_error(difference(blocks, before.at(name)),
                                     difference(after.at(name), before.at(name))),
                kTolerance)
          << "step of " << name;
    }
  }

  static Blocks difference(Blocks a, const Blocks& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      for (std::size_t j = 0; j < a[i].size(); ++j) a[i][j] -= b[i][j];
    }
    return a;
  }
};

TEST_P(CompiledProgram, ComputesTheOutputs) {
  std::vector<Relation> outputs;
  for (const NamedRelation& output : program_.outputs) outputs.push_back(output.relation);
  const std::vector<Blocks> expected = interpret(outputs, inputs_);
  for (const Way& way : ways(program_)) {
    SCOPED_TRACE(way.name);
    const compile::FoundPlan compiled = test::compile_program(program_, way.options);
    const std::vector<Relation> sharded = shard(outputs, compiled.plan.sharding());
    const LoweredRun<float> run(compiled.lowered, inputs_);
    ASSERT_EQ(compiled.lowered.roots.size(), outputs.size());
    for (std::size_t r = 0; r < outputs.size(); ++r) {
      const Blocks found = test::unsplit(sharded[r]->type, run.root(r));
      EXPECT_LT(test::relative_error(found, expected[r]), kTolerance) << program_.outputs[r].name;
    }
  }
}

// The rate is large, so that steps are about as large as parameters and gradients show.
TEST_P(CompiledProgram, DescendsTheGradient) {
  constexpr double kRate = 8.0;
  Values after = inputs_;
  const double loss = test::DenseTraining(program_, Optimizer::kSgd, kRate).step(after);
  for (Way& way : ways(program_)) {
    way.options.train = true;
    way.options.rate = kRate;
    expect_training(way, inputs_, after, loss);
  }
}

// In the middle of training, where moments are not zero.
TEST_P(CompiledProgram, TakesAStepOfAdam) {
  constexpr double kRate = 0.5;
  const test::DenseTraining training(program_, Optimizer::kAdam, kRate);
  Values before = inputs_;
  training.add_state(before);
  before.at("adam.step")[0][0] = 3.0;
  for (const Relation& parameter : program_.parameters) {
    for (const double sign : {-1.0, 0.0}) {  // the second moment is a mean of squares
      for (auto& block : before.at(parameter->name + (sign < 0 ? ".first" : ".second"))) {
        for (double& v : block) v = static_cast<float>(rng_.uniform(0.2 + sign, 1.0));
      }
    }
  }
  Values after = before;
  const double loss = training.step(after);
  for (Way& way : ways(program_)) {
    way.options.train = true;
    way.options.optimizer = Optimizer::kAdam;
    way.options.rate = kRate;
    expect_training(way, before, after, loss);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CompiledProgram, testing::ValuesIn(test::small_programs()),
                         test::program_test_name);

// A parameter with a block for each key, next to one without.
TEST(Compile, TrainsRelationsWithKeys) {
  const Program program = parse_program("experts.tp", R"(
dim m = 5, f = 7, g = 3
input x<k: 4>[m, f]
param w<k: 4>[f, g]
param b[g]
y = tanh(einsum(x, w -> [m, g]) + b)
loss = aggregate(mean(square(y)), k)
output y
)");
  constexpr double kRate = 4.0;
  Rng rng(12);
  const Values before = test::program_inputs(program, rng);
  Values after = before;
  const double loss = test::DenseTraining(program, Optimizer::kSgd, kRate).step(after);
  for (Way& way : ways(program)) {
    SCOPED_TRACE(way.name);
    way.options.train = true;
    way.options.rate = kRate;
    const compile::FoundPlan compiled = test::compile_program(program, way.options);
    const LoweredRun<float> run(compiled.lowered, before);
    EXPECT_LT(test::relative_error(run.root(0), {{loss}}), kTolerance);
    const Values updated = run.updated();
    for (const char* name : {"w", "b"}) {
      EXPECT_LT(test::relative_error(updated.at(name), after.at(name)), kTolerance) << name;
    }
  }
}

// --- graphs in files: saved, loaded and run they give the same bits ---

// Returns the results by the names of their tensors, as bits, so that -0 and 0 differ.
std::map<std::string, std::vector<std::uint32_t>> result_bits(
    const graph::Graph& graph, const graph::TensorValues<float>& given) {
  std::map<std::string, std::vector<std::uint32_t>> results;
  for (const auto& [tensor, values] : graph::SerialRunner<float>(graph).run(given)) {
    auto& bits = results[std::string(graph.tensor_name(tensor))];
    for (const float v : values) bits.push_back(std::bit_cast<std::uint32_t>(v));
  }
  return results;
}

class SavedGraph : public testing::TestWithParam<std::string> {};

TEST_P(SavedGraph, GivesTheSameBits) {
  const Program program = test::small_program(GetParam());
  for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kAdam}) {
    const test::CompileSetup options{
        .machine = {.devices = 3}, .train = true, .optimizer = optimizer};
    const Lowered lowered = test::compile_program(program, options).lowered;
    const graph::Graph loaded =
        graph::read_graph_json("saved.json", graph::write_graph_json(lowered.graph));
    Rng rng(8);
    test::Values values = test::program_inputs(program, rng);
    test::DenseTraining(program, optimizer, options.rate).add_state(values);
    const auto given = test::graph_inputs<float>(lowered, values);
    graph::TensorValues<float> given_to_loaded;
    for (const auto& [tensor, elements] : given) {
      const auto name = lowered.graph.tensor_name(tensor);
      given_to_loaded.emplace(test::find_tensor(loaded, name), elements);
    }
    const auto expected = result_bits(lowered.graph, given);
    EXPECT_GT(expected.size(), program.parameters.size());
    EXPECT_EQ(result_bits(loaded, given_to_loaded), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SavedGraph, testing::ValuesIn(test::small_programs()),
                         test::program_test_name);

}  // namespace
}  // namespace doppler::tra
