// The programs of examples/programs: they can be read, and their gradients are right at sizes that
// can be computed here.
#include <gtest/gtest.h>

#include "doppler/base/file.h"
#include "doppler/tra/program_text.h"
#include "support/tra.h"

namespace doppler::tra {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

struct Example {
  const char* name;
  Sizes small;
  std::size_t parameters;  // how many it has
};

Program read(const std::string& name, const Sizes& sizes) {
  const std::string path = DOPPLER_SOURCE "/examples/programs/" + name + ".tp";
  return parse_program(path, read_file(path), sizes);
}

class ProgramExample : public testing::TestWithParam<Example> {};

TEST_P(ProgramExample, StartsWithWhatItIs) {
  const std::string text =
      read_file(DOPPLER_SOURCE "/examples/programs/" + std::string(GetParam().name) + ".tp");
  EXPECT_EQ(text.substr(0, 2), "# ");
}

TEST_P(ProgramExample, CanBeReadAtItsOwnSizes) {
  const Program program = read(GetParam().name, {});
  EXPECT_EQ(program.name, GetParam().name);
  EXPECT_EQ(program.outputs.size(), 1u);
  EXPECT_TRUE(program.loss.has_value());
}

TEST_P(ProgramExample, HasTheRightGradientsAtSmallSizes) {
  const Program program = read(GetParam().name, GetParam().small);
  EXPECT_EQ(program.parameters.size(), GetParam().parameters);
  Rng rng(5);
  auto inputs = test::random_inputs(program.roots(), rng, -1.0, 1.0);
  if (inputs.contains("tokens")) {
    auto& tokens = inputs.at("tokens")[0];
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<double>(i % 3);
  }
  test::expect_gradients(*program.loss, program.parameters, inputs);
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
  const Program program = read("llama_layer", {{"layers", 32}});
  EXPECT_EQ(program.parameters.size(), 32u * 9 + 3);
  EXPECT_EQ(program.values.at("mixed")->name, "layer31.mixed");
}

}  // namespace
}  // namespace doppler::tra
