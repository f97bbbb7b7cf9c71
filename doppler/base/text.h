// UTF-8: what every text that we read must be in, and every JSON text that we write is in.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace doppler {

// The length in bytes of the character that `text` starts with; 0 where it starts with none: a
// stray or missing continuation byte, an overlong form, a surrogate, or beyond U+10FFFF. REQUIRES:
// the text is not empty.
std::size_t utf8_length(std::string_view text);

// How many bytes at the start of `text` are whole characters: all of them where it is UTF-8.
std::size_t valid_utf8_prefix(std::string_view text);

// Throws InputError "file:line:column: …" at the first byte that is not UTF-8.
void require_utf8(std::string_view file, std::string_view text);

// Places in a text, for error messages.

// Throws InputError "file:line:column: message" for the character at `offset` of `text`; lines and
// columns count from 1, columns in bytes. An offset past the end means the end.
[[noreturn]] void fail_at_offset(std::string_view file, std::string_view text, std::size_t offset,
                                 std::string_view message);

// Bytes as text (RFC 4648, with padding).

std::string to_base64(std::span<const std::byte> bytes);
// Nothing where the text is not what to_base64() writes.
std::optional<std::vector<std::byte>> from_base64(std::string_view text);

}  // namespace doppler
