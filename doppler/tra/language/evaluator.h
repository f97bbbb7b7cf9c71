// From the syntax tree of a program to the program: sizes, names, functions and repeats are worked
// out, and every expression becomes one of the algebra.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "doppler/tra/language/syntax.h"
#include "doppler/tra/program.h"

namespace doppler::tra {

// `library` has functions only. `sizes` replaces sizes of declared dimensions. Throws InputError
// that shows the place.
Program evaluate_program(const syntax::Program& program, const syntax::Program& library,
                         const std::map<std::string, std::int64_t>& sizes);

}  // namespace doppler::tra
