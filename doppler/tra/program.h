// A tensor program: what a .tp file says (program_text.h reads it), or what C++ builds with
// operations.h. A plain value; every relation of it is an expression over the inputs and
// parameters.
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

struct Program {
  std::string name;
  Dimensions dimensions;             // declared, in that order, with the sizes they have
  std::vector<Relation> inputs;      // declared, in that order; an input's name is its relation's
  std::vector<Relation> parameters;  // what training changes
  std::map<std::string, Relation> values;  // what each assigned name stands for in the end
  std::vector<NamedRelation> outputs;
  std::optional<Relation> loss;  // one number: no keys, no dimensions

  // What the program is for: the outputs, then the loss.
  std::vector<Relation> roots() const;
};

// Reverse-mode differentiation on the algebra itself: the gradients are again expressions, which
// shard, place and run like any other, and can be differentiated once more.

// d loss / d each of `wrt`, of the same types. The loss is one number: no keys, no dimensions. What
// the loss does not depend on has gradient zero. Where a maximum is reached more than once, each
// place gets the gradient. Throws InputError where a rule is missing (third derivatives of
// functions).
std::vector<Relation> gradients(const Relation& loss, std::span<const Relation> wrt);

// Evaluates expressions directly, in double precision, one operator at a time with plain loops: the
// reference for everything that is compiled. Slow on purpose; shares nothing with the kernels.

// The blocks of a relation in the order of its keys, each dense and row-major.
using Blocks = std::vector<std::vector<double>>;

// The values of the roots. Every input that they need must be in `inputs`, by name and of the right
// sizes; throws InputError that names the one which is not.
std::vector<Blocks> interpret(std::span<const Relation> roots,
                              const std::map<std::string, Blocks>& inputs);

}  // namespace doppler::tra
