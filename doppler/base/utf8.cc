#include "doppler/base/utf8.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "doppler/base/text_position.h"

namespace doppler {
namespace {

// What may follow a leading byte (RFC 3629, section 4): the range of the second byte excludes
// overlong forms, surrogates and what lies beyond U+10FFFF.
struct Form {
  std::size_t length;  // 0: not a leading byte
  unsigned char second_low;
  unsigned char second_high;
};

Form form_of(unsigned char lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead < 0xc2) return {0, 0, 0};
  if (lead < 0xe0) return {2, 0x80, 0xbf};
  if (lead == 0xe0) return {3, 0xa0, 0xbf};
  if (lead == 0xed) return {3, 0x80, 0x9f};
  if (lead < 0xf0) return {3, 0x80, 0xbf};
  if (lead == 0xf0) return {4, 0x90, 0xbf};
  if (lead < 0xf4) return {4, 0x80, 0xbf};
  if (lead == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const Form form = form_of(byte(0));
  if (form.length < 2) return form.length;
  if (text.size() < form.length || byte(1) < form.second_low || byte(1) > form.second_high) {
    return 0;
  }
  for (std::size_t i = 2; i < form.length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return form.length;
}

std::size_t valid_utf8_prefix(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080u;
  std::size_t at = 0;
  while (at < text.size()) {
    // Most text is ASCII: eight bytes at a time.
    std::uint64_t word = kHighBits;
    if (text.size() - at >= sizeof(word)) std::memcpy(&word, text.data() + at, sizeof(word));
    if ((word & kHighBits) == 0) {
      at += sizeof(word);
      continue;
    }
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

void require_utf8(std::string_view file, std::string_view text) {
  const std::size_t valid = valid_utf8_prefix(text);
  if (valid == text.size()) return;
  fail_at_offset(file, text, valid,
                 fmt::format("byte 0x{:02x} is not UTF-8 here; save the file as UTF-8",
                             static_cast<unsigned char>(text[valid])));
}

}  // namespace doppler
