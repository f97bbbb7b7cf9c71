// The programs of examples/programs: they can be read, and their gradients are right at sizes that
// can be computed here.
#include <gtest/gtest.h>

#include "doppler/base/file.h"
#include "doppler/tra/gradient.h"
#include "doppler/tra/program_text.h"
#include "doppler/tra/sharding.h"
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

// The blocks of `to`, which splits dimensions of `from`; both may have other keys, too.
Blocks split_blocks(const RelationType& from, const Blocks& blocks, const RelationType& to) {
  std::vector<KeyComponent> added;
  for (const KeyComponent& component : to.keys.components()) {
    if (from.keys.find(component.name) < 0) added.push_back(component);
  }
  const RelationType one{KeySet(added), to.dimensions};
  const auto project = [&](const Key& key, const KeySet& keys) {
    Key result;
    for (const KeyComponent& component : keys.components()) {
      result.push_back(key[static_cast<std::size_t>(to.keys.find(component.name))]);
    }
    return static_cast<std::size_t>(keys.position(result));
  };
  Blocks result;
  for (std::size_t i = 0; i < to.keys.size(); ++i) {
    const Key key = to.keys.key(i);
    result.push_back(test::split(one, blocks[project(key, from.keys)])[project(key, one.keys)]);
  }
  return result;
}

// Every dimension in two parts or three, forward and backward.
TEST_P(ProgramExample, IsTheSameWhenSplit) {
  const Program program = read(GetParam().name, GetParam().small);
  std::vector<Relation> roots = gradients(*program.loss, program.parameters);
  roots.push_back(*program.loss);
  Rng rng(6);
  auto inputs = test::random_inputs(roots, rng, -1.0, 1.0);
  if (inputs.contains("tokens")) inputs.at("tokens")[0].assign(3, 2.0);

  std::map<std::string, std::int64_t> parts;
  for (const Dimension& dimension : program.dimensions) {
    parts[dimension.name] = 2 + static_cast<std::int64_t>(parts.size() % 2);
  }
  const std::vector<Relation> sharded = shard(roots, shard_by_name(parts));
  std::map<std::string, RelationType> types;
  for (const Relation& relation : in_order(roots)) {
    if (relation->op == Operator::kInput) types[relation->name] = relation->type;
  }
  std::map<std::string, Blocks> split_inputs;
  for (const Relation& relation : in_order(sharded)) {
    if (relation->op != Operator::kInput) continue;
    const std::string& name = relation->name;
    split_inputs[name] = split_blocks(types.at(name), inputs.at(name), relation->type);
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
  const Program program = read("llama_layer", {{"layers", 32}});
  EXPECT_EQ(program.parameters.size(), 32u * 9 + 3);
  EXPECT_EQ(program.values.at("mixed")->name, "layer31.mixed");
}

}  // namespace
}  // namespace doppler::tra
