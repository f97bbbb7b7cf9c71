// Evaluates expressions directly, in double precision, one operator at a time with plain loops: the
// reference for everything that is compiled. Slow on purpose; shares nothing with the kernels.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "doppler/tra/expression.h"

namespace doppler::tra {

// The blocks of a relation in the order of its keys, each dense and row-major.
using Blocks = std::vector<std::vector<double>>;

// The values of the roots. Every input that they need must be in `inputs`, by name and of the right
// sizes; throws InputError that names the one which is not.
std::vector<Blocks> interpret(std::span<const Relation> roots,
                              const std::map<std::string, Blocks>& inputs);

}  // namespace doppler::tra
