// Random tensor programs whose values stay near one, and random ways to split them.
#pragma once

#include <cstdint>
#include <span>

#include "doppler/base/rng.h"
#include "doppler/tra/lowering.h"
#include "doppler/tra/program.h"
#include "support/programs.h"

namespace doppler::test {

struct RandomProgram {
  // Some results as outputs, and a loss that weighs every element of one of them differently. The
  // loss has no kinks where rounding could decide on a side, and no maxima of equal values: relu
  // and maxima are only of given values.
  tra::Program program;
  // The inputs and parameters that the loss can be differentiated with respect to: not indices.
  std::vector<tra::Relation> differentiable;
  // Floats for every input and parameter; indices are in range.
  Values inputs;
};

// Contractions, elementwise operations, functions, reductions, broadcasts, softmax, rotary
// embeddings, causal masks, gathers and scatters over up to six dimensions; sizes are 1, 2, … 7.
RandomProgram random_program(std::uint64_t seed);

// Every operation that the roots need works in its own number of parts along each dimension: one,
// a few that need not divide it, or as many as it has elements.
tra::Sharding random_sharding(std::span<const tra::Relation> roots, std::uint64_t seed);

}  // namespace doppler::test
