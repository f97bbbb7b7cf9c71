// The syntax tree of a program: expressions and statements as they were written. Names are not
// looked up yet; evaluate_program() in evaluator.h does that. `at` is everywhere the offset in the
// text, for errors. Plain values.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "doppler/tra/language/lexer.h"

namespace doppler::tra::syntax {

struct Name {
  std::string text;  // {i} not yet replaced
  std::size_t at;
};

struct Expression {
  enum class Kind {
    kNumber,
    kName,
    kNegate,
    kBinary,  // `name` is the operator
    kCall,    // of the function `name`; `dimensions` is what follows ->
    kRename,  // of the one operand: `keys`, `dimensions`
  };

  Kind kind;
  std::size_t at;
  std::string name = {};
  double number = 0.0;
  std::vector<Expression> operands = {};
  std::optional<std::vector<Name>> keys = {};
  std::optional<std::vector<Name>> dimensions = {};
  int depth = 1;
};

struct Dimension {
  Name name;
  Expression size;
};

// A declaration by `input`, `param` or `sparse`.
struct Declaration {
  enum class Kind { kInput, kParameter, kSparse };

  struct KeyEntry {
    std::size_t at;
    std::vector<Expression> numbers;
  };

  Kind kind;
  Name name;
  std::vector<Dimension> keys;  // components with their extents
  std::vector<Name> dimensions;
  std::vector<KeyEntry> present;  // kSparse
};

struct Assignment {
  Name name;
  Expression value;
};

struct Output {
  std::vector<Name> names;
};

struct Statement;

struct Repeat {
  Expression count;
  Name variable;
  std::vector<Statement> body;
};

struct Statement {
  std::size_t at;
  std::variant<std::vector<Dimension>, Declaration, Assignment, Output, Repeat> what;
};

struct Function {
  const ProgramSource* source;
  Name name;
  std::vector<Name> parameters;
  std::vector<Statement> body;
  Expression result;
};

struct Program {
  const ProgramSource* source;
  std::map<std::string, Function, std::less<>> functions;
  std::vector<Statement> statements;
};

}  // namespace doppler::tra::syntax
