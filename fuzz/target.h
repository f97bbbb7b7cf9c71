// What every fuzz target has in common (target.cc): a target defines fuzz(), which reads one input.
#pragma once

#include <string_view>

// Any input must be read or be refused by an InputError. Everything else that is thrown, and
// whatever a sanitizer sees, is a finding.
void fuzz(std::string_view bytes);
