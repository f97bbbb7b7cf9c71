// From the text of a program to its syntax tree.
#pragma once

#include <cstddef>

#include "doppler/tra/language/syntax.h"

namespace doppler::tra {

inline constexpr std::size_t kLargestProgram = std::size_t{1} << 20;  // bytes
inline constexpr int kDeepestExpression =
    200;  // operators, calls and parentheses within each other
inline constexpr int kDeepestRepeat = 16;

// The source must outlive the result. Throws InputError that shows the place.
syntax::Program parse_syntax(const ProgramSource& source);

}  // namespace doppler::tra
