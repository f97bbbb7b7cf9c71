// The syntax tree of a program (expressions and statements as they were written), and the two steps
// around it: parse_syntax() makes the tree from the text, and evaluate_program() makes the program
// from the tree. The tree is of plain values, in which names are not looked up yet, and `at` is the
// offset in the text, for errors. The functions are safe to call from several threads, and the
// errors that they throw show the position in the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "doppler/tra/language/lexer.h"
#include "doppler/tra/program.h"

namespace doppler::tra {

namespace syntax {

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

}  // namespace syntax

inline constexpr std::size_t kLargestProgram = std::size_t{1} << 20;  // bytes
// The greatest depth of operators, calls and parentheses within each other.
inline constexpr int kDeepestExpression = 200;
inline constexpr int kDeepestRepeat = 16;

// Returns the syntax tree of a text, which must outlive it. Throws InputError if the text is not a
// program or exceeds a limit above.
syntax::Program parse_syntax(const ProgramSource& source);

// Returns the program that a syntax tree describes: sizes, names, functions and repeats are worked
// out, and every expression becomes one of the algebra. `library` has only functions. `sizes`
// replaces sizes of declared dimensions. Throws InputError if the program makes no sense.
Program evaluate_program(const syntax::Program& program, const syntax::Program& library,
                         const std::map<std::string, std::int64_t>& sizes);

}  // namespace doppler::tra
