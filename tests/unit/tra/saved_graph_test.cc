// Compiled graphs in files: saved, loaded and run they give the same bits.
#include <gtest/gtest.h>

#include <bit>

#include "doppler/graph/graph_json.h"
#include "doppler/tra/compile.h"
#include "support/lowered.h"
#include "support/programs.h"

namespace doppler::tra {
namespace {

// Results by the names of their tensors, as bits: -0 and 0 differ.
std::map<std::string, std::vector<std::uint32_t>> run(const graph::Graph& graph,
                                                      const graph::TensorValues<float>& given) {
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
      given_to_loaded.emplace(graph::find_tensor(loaded, name), elements);
    }
    const auto expected = run(lowered.graph, given);
    EXPECT_GT(expected.size(), program.parameters.size());
    EXPECT_EQ(run(loaded, given_to_loaded), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SavedGraph, testing::ValuesIn(test::small_programs()),
                         test::program_test_name);

}  // namespace
}  // namespace doppler::tra
