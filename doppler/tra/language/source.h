// The text of a program, and errors that show the place in it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace doppler::tra {

struct ProgramSource {
  std::string file;
  std::string_view text;    // must outlive whatever points into it
  bool is_library = false;  // ours, not the user's
};

// A place, and how execution came to it.
struct ProgramPlace {
  const ProgramSource* source;
  std::size_t at;        // offset in the text
  std::string function;  // that it is in; empty: none
};

// Throws InputError "file:line:column: message", then the line and a caret below the place, then
// the calls that led there. `places` has the innermost first and is not empty. The first line names
// a place in the user's file where there is one, also for errors inside the standard library.
[[noreturn]] void fail_in_program(const std::vector<ProgramPlace>& places,
                                  std::string_view message);

}  // namespace doppler::tra
