// Training from step to step: graphs in float, split, follow the dense interpreter in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "doppler/tra/computation.h"
#include "support/lowered.h"
#include "support/programs.h"

namespace doppler::tra {
namespace {

constexpr int kSteps = 40;

// Points around a centre for each class, 23 of them: no number of parts divides the batch.
struct Clusters {
  Program program = test::example_program(
      "classifier", {{"batch", 23}, {"in", 6}, {"hidden", 10}, {"classes", 3}});
  test::Values values;

  Clusters() {
    Rng rng(21);
    values = test::program_inputs(program, rng);
    std::vector<double> centres(3 * 6);
    for (double& v : centres) v = rng.uniform(-2.0, 2.0);
    for (std::size_t b = 0; b < 23; ++b) {
      const auto target = values.at("target")[0].begin() + static_cast<std::ptrdiff_t>(3 * b);
      const auto label = static_cast<std::size_t>(std::find(target, target + 3, 1.0) - target);
      for (std::size_t i = 0; i < 6; ++i) {
        values.at("x")[0][6 * b + i] = static_cast<float>(centres[6 * label + i] + rng.normal());
      }
    }
  }
};

struct Case {
  const char* name;
  test::CompileSetup options;

  friend void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }
};

class Training : public testing::TestWithParam<Case> {};

TEST_P(Training, FollowsTheDenseInterpreterStepByStep) {
  const Clusters data;
  test::CompileSetup options = GetParam().options;
  options.train = true;
  const compile::FoundPlan compiled = test::compile_program(data.program, options);
  const test::DenseTraining training(data.program, options.optimizer, options.rate);
  test::Values dense = data.values;
  training.add_state(dense);
  test::Values sharded = dense;
  double first = 0.0, last = 0.0;
  for (int step = 0; step < kSteps; ++step) {
    const double expected = training.step(dense);
    const test::LoweredRun<float> run(compiled.lowered, sharded);
    EXPECT_LT(test::relative_error(run.root(0), {{expected}}), 1e-4) << "step " << step;
    for (auto& [name, blocks] : run.updated()) sharded.at(name) = blocks;
    if (step == 0) first = expected;
    last = run.root(0)[0][0];
  }
  EXPECT_LT(last, 0.1 * first);
  for (const Relation& parameter : data.program.parameters) {
    EXPECT_LT(test::relative_error(sharded.at(parameter->name), dense.at(parameter->name)), 1e-3)
        << parameter->name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Classifier, Training,
    testing::Values(
        Case{"SgdUnsplit", {.parts = Parts{}, .rate = 0.5}},
        Case{"SgdByBatch", {.parts = Parts{{"batch", 3}}, .rate = 0.5}},
        Case{"SgdByLayer", {.parts = Parts{{"in", 4}, {"hidden", 3}, {"classes", 2}}, .rate = 0.5}},
        Case{"SgdPlanned", {.machine = {.devices = 4}, .rate = 0.5}},
        Case{"AdamByBatch",
             {.parts = Parts{{"batch", 3}}, .optimizer = Optimizer::kAdam, .rate = 0.05}},
        Case{"AdamPlanned",
             {.machine = {.devices = 7}, .optimizer = Optimizer::kAdam, .rate = 0.05}}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace doppler::tra
