// From the text of a program to its syntax tree.
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

// The source must outlive the result. Throws InputError that shows the place.
syntax::Program parse_syntax(const ProgramSource& source);

// From the syntax tree of a program to the program: sizes, names, functions and repeats are worked
// out, and every expression becomes one of the algebra.

// `library` has functions only. `sizes` replaces sizes of declared dimensions. Throws InputError
// that shows the place.
Program evaluate_program(const syntax::Program& program, const syntax::Program& library,
                         const std::map<std::string, std::int64_t>& sizes);

}  // namespace doppler::tra
