// Text: validation of UTF-8, in which every text that we read must be and every JSON text that we
// write is; errors that name a position in a text; small letters; and base64. Pure functions, so
// safe to call from several threads.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace doppler {

// Returns the length in bytes of the UTF-8 character that `text` starts with, or 0 if it starts
// with none (a stray or missing continuation byte, an overlong form, a surrogate, or a character
// beyond U+10FFFF). REQUIRES: the text is not empty.
std::size_t utf8_length(std::string_view text);

// Returns the number of bytes at the start of `text` that are whole characters: its size if it is
// UTF-8.
std::size_t valid_utf8_prefix(std::string_view text);

// Throws InputError "file:line:column: …" at the first byte that is not UTF-8.
void require_utf8(std::string_view file, std::string_view text);

// Throws InputError "file:line:column: message" for the character at `offset` of `text`. Lines and
// columns count from 1, columns in bytes. An offset past the end means the end. Control characters
// in the message become '?', so that it is one line whatever names it quotes.
[[noreturn]] void fail_at_offset(std::string_view file, std::string_view text, std::size_t offset,
                                 std::string_view message);

// Returns an ASCII capital letter as a small one and any other byte as it is, whatever the locale.
constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Returns the bytes as base64 text (RFC 4648, with padding).
std::string to_base64(std::span<const std::byte> bytes);
// Returns the bytes of a base64 text, or nothing if it is not in the form that to_base64() writes.
std::optional<std::vector<std::byte>> from_base64(std::string_view text);

}  // namespace doppler
