// Parsing and evaluation of program text: from the text to the syntax tree, and from the syntax
// tree to the program. Pure functions, so safe to call from several threads. The errors that they
// throw show the position in the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "doppler/tra/language/syntax.h"
#include "doppler/tra/program.h"

namespace doppler::tra {

inline constexpr std::size_t kLargestProgram = std::size_t{1} << 20;  // bytes
inline constexpr int kDeepestExpression =
    200;  // operators, calls and parentheses within each other
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
