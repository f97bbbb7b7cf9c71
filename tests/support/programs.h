// The workloads and the programs of examples/programs at sizes that can be computed in a moment.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/tra/program.h"

namespace doppler::test {

using Sizes = std::map<std::string, std::int64_t>;
using Values = std::map<std::string, tra::Blocks>;  // by name of an input or parameter

// examples/programs/NAME.tp with these sizes of dimensions.
tra::Program example_program(const std::string& name, const Sizes& sizes = {});

// "chainmm", "ffnn", "llama-block", "llama-layer", "classifier", "graph_convolution".
std::vector<std::string> small_programs();
// The name as a part of a test's.
std::string program_test_name(const testing::TestParamInfo<std::string>& program);
// One of these, workloads as the command makes them. Most sizes are prime, so that few numbers of
// parts divide them.
tra::Program small_program(const std::string& name);

// Values for every input and parameter: tokens that are in the vocabulary, targets with a one for
// each example where they are classes, anything else uniform in [-1, 1). All are floats.
Values program_inputs(const tra::Program& program, Rng& rng);

// The names of all dimensions that the roots and what they need have.
std::vector<std::string> working_dimensions(std::span<const tra::Relation> roots);

}  // namespace doppler::test
