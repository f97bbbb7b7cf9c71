// The programs of examples/programs: they can be read, and their gradients are right at sizes that
// can be computed here.
#include <gtest/gtest.h>

#include "doppler/base/file.h"
#include "doppler/tra/lowering.h"
#include "doppler/tra/program.h"
#include "support/programs.h"
#include "support/tra.h"

namespace doppler::tra {
namespace {

struct Example {
  const char* name;
  test::Sizes small;
  std::size_t parameters;  // how many it has
};

class ProgramExample : public testing::TestWithParam<Example> {};

TEST_P(ProgramExample, StartsWithWhatItIs) {
  const std::string text =
      read_file(DOPPLER_SOURCE "/examples/programs/" + std::string(GetParam().name) + ".tp");
  EXPECT_EQ(text.substr(0, 2), "# ");
}

TEST_P(ProgramExample, CanBeReadAtItsOwnSizes) {
  const Program program = test::example_program(GetParam().name);
  EXPECT_EQ(program.name, GetParam().name);
  EXPECT_EQ(program.outputs.size(), 1u);
  EXPECT_TRUE(program.loss.has_value());
}

TEST_P(ProgramExample, HasTheRightGradientsAtSmallSizes) {
  const Program program = test::example_program(GetParam().name, GetParam().small);
  EXPECT_EQ(program.parameters.size(), GetParam().parameters);
  Rng rng(5);
  auto inputs = test::random_inputs(test::roots_of(program), rng, -1.0, 1.0);
  if (inputs.contains("tokens")) {
    auto& tokens = inputs.at("tokens")[0];
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<double>(i % 3);
  }
  test::expect_gradients(*program.loss, program.parameters, inputs);
}

// Every dimension in two parts or three, forward and backward.
TEST_P(ProgramExample, IsTheSameWhenSplit) {
  const Program program = test::example_program(GetParam().name, GetParam().small);
  std::vector<Relation> roots = gradients(*program.loss, program.parameters);
  roots.push_back(*program.loss);
  Rng rng(6);
  auto inputs = test::random_inputs(roots, rng, -1.0, 1.0);
  if (inputs.contains("tokens")) inputs.at("tokens")[0].assign(3, 2.0);

  std::map<std::string, std::int64_t> parts;
  for (const Dimension& dimension : program.dimensions) {
    parts[dimension.name] = 2 + static_cast<std::int64_t>(parts.size() % 2);
  }
  const std::vector<Relation> sharded = shard(roots, test::shard_by_name(parts));
  std::map<std::string, Blocks> split_inputs;
  for (const Relation& relation : in_order(sharded)) {
    if (relation->op != Operator::kInput) continue;
    split_inputs[relation->name] = test::split(relation->type, inputs.at(relation->name));
  }
  const std::vector<Blocks> expected = interpret(roots, inputs);
  const std::vector<Blocks> found = interpret(sharded, split_inputs);
  for (std::size_t r = 0; r < roots.size(); ++r) {
    const std::vector<double> whole = test::whole(sharded[r]->type, found[r]);
    ASSERT_EQ(whole.size(), expected[r][0].size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_NEAR(whole[i], expected[r][0][i], 1e-9) << "root " << r << " element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ProgramExample,
    testing::Values(
        Example{"chainmm", {{"n", 3}}, 5},
        Example{"ffnn", {{"batch", 3}, {"in", 4}, {"hidden", 5}, {"out", 2}}, 2},
        Example{"classifier", {{"batch", 3}, {"in", 4}, {"hidden", 5}, {"classes", 3}}, 4},
        Example{
            "graph_convolution", {{"part", 2}, {"features", 3}, {"hidden", 2}, {"classes", 3}}, 2},
        Example{
            "llama_block", {{"batch", 2}, {"seq", 3}, {"embed", 4}, {"heads", 2}, {"ffn", 3}}, 9},
        Example{"llama_layer",
                {{"seq", 3}, {"embed", 4}, {"heads", 2}, {"ffn", 3}, {"vocab", 5}, {"layers", 2}},
                21}),
    [](const auto& example) { return std::string(example.param.name); });

// 32 blocks are within the limits.
TEST(ProgramExamples, AWholeModel) {
  const Program program = test::example_program("llama_layer", {{"layers", 32}});
  EXPECT_EQ(program.parameters.size(), 32u * 9 + 3);
  EXPECT_EQ(program.values.at("mixed")->name, "layer31.mixed");
}

}  // namespace
}  // namespace doppler::tra
