// Tensor programs, their gradients and their interpreter. A program is read from a .tp file
// (language/program_text.h) or built in C++ with operations.h. Programs are plain values, and the
// functions are safe to call from several threads.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doppler/tra/expression.h"

namespace doppler::tra {

struct NamedRelation {
  std::string name;
  Relation relation;
};

// A program. Each of its relations is an expression over the inputs and parameters.
struct Program {
  std::string name;
  Dimensions dimensions;                   // as declared, in that order, with their sizes
  std::vector<Relation> inputs;            // as declared, in that order; named as their relations
  std::vector<Relation> parameters;        // inputs that training changes
  std::map<std::string, Relation> values;  // the last value of each assigned name
  std::vector<NamedRelation> outputs;
  std::optional<Relation> loss;  // one number: no keys, no dimensions
};

// Returns the gradients of the loss with respect to each of `wrt`, which have the same types. They
// are expressions of the algebra, which are sharded, placed and run like any other and can be
// differentiated once more. The gradient is zero for relations that the loss does not depend on.
// Where a maximum is reached more than once, each position gets the gradient. Throws InputError if
// a rule is missing (third derivatives of functions). REQUIRES: the loss is one number, without
// keys and dimensions.
std::vector<Relation> gradients(const Relation& loss, std::span<const Relation> wrt);

// The blocks of a relation in the order of its keys, each dense and row-major.
using Blocks = std::vector<std::vector<double>>;

// Evaluates the roots directly and returns their values: in double precision, one operator at a
// time, with plain loops. This is the reference for everything that is compiled, slow on purpose,
// and shares nothing with the kernels. Throws InputError, naming the input, if one that the roots
// need is missing in `inputs` or has other sizes.
std::vector<Blocks> interpret(std::span<const Relation> roots,
                              const std::map<std::string, Blocks>& inputs);

}  // namespace doppler::tra
