#include "doppler/base/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/hash.h"
#include "doppler/base/text.h"

namespace doppler {

namespace {

// Bytes that do not stand for themselves: what JSON requires to be escaped, and the first bytes of
// characters that a terminal would obey, U+007F to U+009F.
constexpr std::array<bool, 256> kSpecial = [] {
  std::array<bool, 256> special{};
  for (std::size_t c = 0; c < 0x20; ++c) special[c] = true;
  for (const unsigned char c : {'"', '\\', '\x7f'}) special[c] = true;
  special[0xc2] = true;
  return special;
}();

}  // namespace

void JsonWriter::separate() {
  if (frames_.empty()) return;
  Frame& frame = frames_.back();
  if (!frame.empty) out_ += frame.layout == JsonLayout::kCompact ? ", " : ",";
  if (frame.layout == JsonLayout::kLines) {
    out_ += '\n';
    out_.append(frames_.size(), ' ');
  }
  frame.empty = false;
}

void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
  } else {
    separate();
  }
}

JsonWriter& JsonWriter::open(char opening, char closing, JsonLayout layout) {
  before_value();
  // Everything inside a compact object or array is compact.
  if (!frames_.empty() && frames_.back().layout == JsonLayout::kCompact)
    layout = JsonLayout::kCompact;
  out_ += opening;
  frames_.push_back({closing, layout, true});
  return *this;
}

JsonWriter& JsonWriter::close() {
  DOPPLER_CHECK(!frames_.empty() && !after_key_);
  const Frame frame = frames_.back();
  frames_.pop_back();
  if (frame.layout == JsonLayout::kLines && !frame.empty) {
    out_ += '\n';
    out_.append(frames_.size(), ' ');
  }
  out_ += frame.closing;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  DOPPLER_CHECK(!frames_.empty() && frames_.back().closing == '}' && !after_key_);
  separate();
  quote(name);
  out_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::checksum_field() {
  DOPPLER_CHECK(frames_.size() == 1);
  key("checksum");
  Hasher hasher;
  hasher.add_bytes(out_);
  return value(hash_to_string(hasher.value()));
}

void JsonWriter::quote(std::string_view text) {
  out_ += '"';
  for (;;) {
    const std::size_t valid = valid_utf8_prefix(text);
    append_escaped(text.substr(0, valid));
    if (valid == text.size()) break;
    out_ += "\xef\xbf\xbd";  // U+FFFD, the replacement character
    text.remove_prefix(valid + 1);
  }
  out_ += '"';
}

void JsonWriter::append_escaped(std::string_view text) {
  while (!text.empty()) {
    // Most of a long text, such as base64, goes over as it is.
    const auto special = std::find_if(
        text.begin(), text.end(), [](char c) { return kSpecial[static_cast<unsigned char>(c)]; });
    const auto plain = static_cast<std::size_t>(special - text.begin());
    out_.append(text.substr(0, plain));
    if (special == text.end()) return;
    const char c = *special;
    text.remove_prefix(plain + 1);
    switch (c) {
      case '"':
        out_ += "\\\"";
        break;
      case '\\':
        out_ += "\\\\";
        break;
      case '\n':
        out_ += "\\n";
        break;
      case '\r':
        out_ += "\\r";
        break;
      case '\t':
        out_ += "\\t";
        break;
      case '\xc2': {
        // U+0080 to U+009F have two bytes, of which the second is the number.
        const auto second = static_cast<unsigned char>(text.front());
        text.remove_prefix(1);
        out_ += second < 0xa0 ? fmt::format("\\u{:04x}", second)
                              : std::string{c, static_cast<char>(second)};
        break;
      }
      default:
        out_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    }
  }
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before_value();
  quote(text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  before_value();
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, number);
  out_.append(buffer, result.ptr);
  return *this;
}

JsonWriter& JsonWriter::value(bool flag) {
  before_value();
  out_ += flag ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::signed_value(std::int64_t number) {
  before_value();
  out_ += std::to_string(number);
  return *this;
}

JsonWriter& JsonWriter::unsigned_value(std::uint64_t number) {
  before_value();
  out_ += std::to_string(number);
  return *this;
}

JsonWriter& JsonWriter::null() {
  before_value();
  out_ += "null";
  return *this;
}

std::string JsonWriter::take() {
  DOPPLER_CHECK(frames_.empty() && !after_key_);
  out_ += '\n';
  return std::exchange(out_, {});
}

}  // namespace doppler
