// Tensor programs as text, .tp files; docs/formats/program.md has the language.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "doppler/tra/program.h"

namespace doppler::tra {

// `sizes` replaces the sizes of declared dimensions; one that the program does not declare is an
// error. The program is named after the file. Throws InputError: "file:line:column: message", then
// the line and a caret below the place, then the calls that led there.
Program parse_program(const std::string& file_name, const std::string& text,
                      const std::map<std::string, std::int64_t>& sizes = {});

}  // namespace doppler::tra
