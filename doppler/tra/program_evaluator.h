// From the syntax tree of a program to the program: sizes, names, functions and repeats are worked
// out, and every expression becomes one of the algebra.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "doppler/tra/program.h"
#include "doppler/tra/program_syntax.h"

namespace doppler::tra {

// Statements and operations that may be executed; every hundred keys that a relation could have
// count as one more.
inline constexpr std::int64_t kMostProgramSteps = 200'000;
inline constexpr std::size_t kMostProgramDimensions = 1000;
// Of one value: kernels name dimensions by 52 letters, and two operands share them.
inline constexpr std::size_t kMostValueDimensions = 26;
inline constexpr std::size_t kDeepestCall = 64;

// `library` has functions only. `sizes` replaces sizes of declared dimensions. Throws InputError
// that shows the place.
Program evaluate_program(const syntax::Program& program, const syntax::Program& library,
                         const std::map<std::string, std::int64_t>& sizes);

}  // namespace doppler::tra
