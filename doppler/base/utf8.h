// UTF-8: what every text that we read must be in, and every JSON text that we write is in.
#pragma once

#include <cstddef>
#include <string_view>

namespace doppler {

// The length in bytes of the character that `text` starts with; 0 where it starts with none: a
// stray or missing continuation byte, an overlong form, a surrogate, or beyond U+10FFFF. REQUIRES:
// the text is not empty.
std::size_t utf8_length(std::string_view text);

// How many bytes at the start of `text` are whole characters: all of them where it is UTF-8.
std::size_t valid_utf8_prefix(std::string_view text);

// Throws InputError "file:line:column: …" at the first byte that is not UTF-8.
void require_utf8(std::string_view file, std::string_view text);

}  // namespace doppler
