// A tensor program: what a .tp file says (program_text.h reads it), or what C++ builds with
// operations.h. A plain value; every relation of it is an expression over the inputs and
// parameters.
#pragma once

#include <map>
#include <optional>
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

}  // namespace doppler::tra
