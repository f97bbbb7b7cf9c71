// Places in a text, for error messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace doppler {

// Throws InputError "file:line:column: message" for the character at `offset` of `text`; lines and
// columns count from 1, columns in bytes. An offset past the end means the end.
[[noreturn]] void fail_at_offset(std::string_view file, std::string_view text, std::size_t offset,
                                 std::string_view message);

}  // namespace doppler
