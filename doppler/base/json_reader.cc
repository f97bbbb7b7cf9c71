#include "doppler/base/json_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "doppler/base/error.h"
#include "doppler/base/hash.h"
#include "doppler/base/text.h"

namespace doppler {

namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

const char* kind_name(JsonReader::Kind kind) {
  switch (kind) {
    case JsonReader::Kind::kObject:
      return "an object";
    case JsonReader::Kind::kArray:
      return "an array";
    case JsonReader::Kind::kString:
      return "a string";
    case JsonReader::Kind::kNumber:
      return "a number";
    case JsonReader::Kind::kBool:
      return "true or false";
    case JsonReader::Kind::kNull:
      return "null";
  }
  return "?";
}

}  // namespace

JsonReader::JsonReader(std::string file, std::string_view text, std::size_t start)
    : file_(std::move(file)), text_(text), at_(start) {
  if (at_ > 0) return;  // another reader has seen the beginning
  // A binary file, such as a model, is reported as such, since the position of its first byte that
  // is not UTF-8 would say little.
  const std::size_t first = text_.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first != std::string_view::npos && static_cast<unsigned char>(text_[first]) < ' ') {
    fail_at(first, "this is no JSON, but a binary file");
  }
  require_utf8(file_, text_);
  if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark is harmless
}

void JsonReader::fail_at(std::size_t offset, const std::string& message) const {
  fail_at_offset(file_, text_, offset, message);
}

void JsonReader::fail(const std::string& message) const {
  fail_at(token_start_, message);
}
void JsonReader::fail_here(const std::string& message) const {
  fail_at(at_, message);
}

void JsonReader::skip_space() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
}

char JsonReader::next_char() {
  skip_space();
  if (at_ == text_.size()) fail_here("the file ends too early");
  return text_[at_];
}

void JsonReader::expect(char c, const char* what) {
  if (next_char() != c) fail_here(fmt::format("expected {}", what));
  ++at_;
}

void JsonReader::expect_literal(std::string_view literal) {
  if (text_.substr(at_, literal.size()) != literal) fail_here("not a JSON value");
  at_ += literal.size();
}

JsonReader::Kind JsonReader::peek() {
  const char c = next_char();
  switch (c) {
    case '{':
      return Kind::kObject;
    case '[':
      return Kind::kArray;
    case '"':
      return Kind::kString;
    case 't':
    case 'f':
      return Kind::kBool;
    case 'n':
      return Kind::kNull;
    default:
      if (c == '-' || (c >= '0' && c <= '9')) return Kind::kNumber;
      fail_here("not a JSON value");
  }
}

std::size_t JsonReader::value_position() {
  next_char();
  return at_;
}

void JsonReader::read_checksum() {
  Hasher hasher;
  hasher.add_bytes(text_.substr(0, value_position()));
  if (string_view() != hash_to_string(hasher.value())) {
    fail(
        "the file was damaged or edited, or an earlier doppler wrote it: the checksum is another "
        "one");
  }
}

void JsonReader::open(Scope scope) {
  const Kind wanted = scope == Scope::kObject ? Kind::kObject : Kind::kArray;
  const Kind found = peek();
  token_start_ = at_;
  if (found != wanted)
    fail(fmt::format("expected {}, found {}", kind_name(wanted), kind_name(found)));
  if (frames_.size() >= static_cast<std::size_t>(kMaxDepth)) {
    fail(fmt::format("nested deeper than {} levels", kMaxDepth));
  }
  frames_.push_back({scope, true});
  ++at_;
}

void JsonReader::begin_object() {
  open(Scope::kObject);
}
void JsonReader::begin_array() {
  open(Scope::kArray);
}

std::optional<std::string_view> JsonReader::next_key() {
  DOPPLER_CHECK(!frames_.empty() && frames_.back().scope == Scope::kObject);
  if (next_char() == '}') {
    ++at_;
    frames_.pop_back();
    return std::nullopt;
  }
  if (!frames_.back().empty) {
    expect(',', "',' or '}'");
    next_char();
  }
  frames_.back().empty = false;
  token_start_ = at_;
  if (text_[at_] != '"') fail_here("expected a key in double quotes");
  const std::string_view key = scan_string();
  expect(':', "':' after the key");
  return key;
}

bool JsonReader::next_element() {
  DOPPLER_CHECK(!frames_.empty() && frames_.back().scope == Scope::kArray);
  if (next_char() == ']') {
    ++at_;
    frames_.pop_back();
    return false;
  }
  if (!frames_.back().empty) expect(',', "',' or ']'");
  frames_.back().empty = false;
  return true;
}

// Reads a string from its opening quote on. Returns the text without quotes: a view into the file
// if it has no escapes, else a view of scratch_.
std::string_view JsonReader::scan_string() {
  const std::size_t start = ++at_;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
         static_cast<unsigned char>(text_[at_]) >= 0x20) {
    ++at_;
  }
  if (at_ < text_.size() && text_[at_] == '"') return text_.substr(start, at_++ - start);

  scratch_.assign(text_.substr(start, at_ - start));
  const auto hex4 = [&]() -> std::uint32_t {
    std::uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const int digit = at_ < text_.size() ? hex_digit(text_[at_]) : -1;
      if (digit < 0) fail_here("expected four hexadecimal digits after \\u");
      code = code * 16 + static_cast<std::uint32_t>(digit);
    }
    return code;
  };
  for (;;) {
    if (at_ == text_.size()) fail_here("the file ends inside a string");
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      return scratch_;
    }
    if (static_cast<unsigned char>(c) < 0x20) fail_here("a control character inside a string");
    ++at_;
    if (c != '\\') {
      scratch_ += c;
      continue;
    }
    if (at_ == text_.size()) fail_here("the file ends inside a string");
    const char escaped = text_[at_++];
    switch (escaped) {
      case '"':
      case '\\':
      case '/':
        scratch_ += escaped;
        break;
      case 'b':
        scratch_ += '\b';
        break;
      case 'f':
        scratch_ += '\f';
        break;
      case 'n':
        scratch_ += '\n';
        break;
      case 'r':
        scratch_ += '\r';
        break;
      case 't':
        scratch_ += '\t';
        break;
      case 'u': {
        std::uint32_t code = hex4();
        if (code >= 0xd800 && code < 0xdc00) {
          if (text_.substr(at_, 2) != "\\u") fail_here("half of a surrogate pair");
          at_ += 2;
          const std::uint32_t low = hex4();
          if (low < 0xdc00 || low >= 0xe000) fail_here("half of a surrogate pair");
          code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        } else if (code >= 0xdc00 && code < 0xe000) {
          fail_here("half of a surrogate pair");
        }
        append_utf8(scratch_, code);
        break;
      }
      default:
        --at_;
        fail_here("unknown escape in a string");
    }
  }
}

std::string JsonReader::string() {
  return std::string(string_view());
}

std::string_view JsonReader::string_view() {
  const Kind found = peek();
  token_start_ = at_;
  if (found != Kind::kString) fail(fmt::format("expected a string, found {}", kind_name(found)));
  return scan_string();
}

// Reads the number that comes next as text, and checks it against JSON's grammar.
std::string_view JsonReader::number_text() {
  const Kind found = peek();
  token_start_ = at_;
  if (found != Kind::kNumber) fail(fmt::format("expected a number, found {}", kind_name(found)));
  const auto digit_here = [&] {
    return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9';
  };
  const auto digits = [&] {
    if (!digit_here()) fail_here("not a number");
    while (digit_here()) ++at_;
  };
  if (text_[at_] == '-') ++at_;
  if (at_ < text_.size() && text_[at_] == '0') {
    ++at_;
    if (digit_here()) fail("a number must not start with 0");
  } else {
    digits();
  }
  if (at_ < text_.size() && text_[at_] == '.') {
    ++at_;
    digits();
  }
  if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    ++at_;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
    digits();
  }
  return text_.substr(token_start_, at_ - token_start_);
}

namespace {

// Returns the power of ten of the first digit that is not 0. REQUIRES: a number of JSON, not 0.
std::int64_t decimal_exponent(std::string_view number) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  const std::size_t mark = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, mark);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits.find_first_of("123456789");
  DOPPLER_CHECK(first != std::string_view::npos);
  const auto of_digits =
      static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first) - (first < point ? 1 : 0);
  if (mark == number.size()) return of_digits;
  std::string_view written = number.substr(mark + 1);
  if (written.starts_with('+')) written.remove_prefix(1);
  std::int64_t exponent = 0;
  const auto result = std::from_chars(written.data(), written.data() + written.size(), exponent);
  if (result.ec == std::errc::result_out_of_range) exponent = written[0] == '-' ? -kMost : kMost;
  return of_digits + std::clamp(exponent, -kMost, kMost);
}

}  // namespace

double JsonReader::number() {
  const std::string_view digits = number_text();
  double value = 0.0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec == std::errc::result_out_of_range) {
    // from_chars does not tell overflow from underflow, which is read as 0.
    if (decimal_exponent(digits) >= 0) fail("the number is too large");
    return 0.0;
  }
  if (result.ec != std::errc{} || !std::isfinite(value)) fail("not a number");
  return value;
}

std::uint64_t JsonReader::unsigned_integer(std::uint64_t max) {
  const std::string_view digits = number_text();
  std::uint64_t value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec != std::errc{} || result.ptr != digits.data() + digits.size() || value > max) {
    fail(fmt::format("expected an integer from 0 to {}", max));
  }
  return value;
}

bool JsonReader::boolean() {
  const Kind found = peek();
  token_start_ = at_;
  if (found != Kind::kBool) fail(fmt::format("expected true or false, found {}", kind_name(found)));
  const bool value = text_[at_] == 't';
  expect_literal(value ? "true" : "false");
  return value;
}

void JsonReader::null() {
  const Kind found = peek();
  token_start_ = at_;
  if (found != Kind::kNull) fail(fmt::format("expected null, found {}", kind_name(found)));
  expect_literal("null");
}

void JsonReader::skip_value() {
  const std::size_t depth = frames_.size();
  do {
    if (frames_.size() > depth) {
      if (frames_.back().scope == Scope::kObject ? !next_key().has_value() : !next_element())
        continue;
    }
    switch (peek()) {
      case Kind::kObject:
        begin_object();
        break;
      case Kind::kArray:
        begin_array();
        break;
      case Kind::kString:
        token_start_ = at_;
        scan_string();
        break;
      case Kind::kNumber:
        number_text();
        break;
      case Kind::kBool:
        boolean();
        break;
      case Kind::kNull:
        null();
        break;
    }
  } while (frames_.size() > depth);
}

bool JsonReader::done() {
  skip_space();
  return at_ == text_.size();
}

void JsonReader::finish() {
  if (!done()) fail_here("something follows the end of the JSON value");
}

JsonFields::JsonFields(JsonReader& reader, std::span<const std::string_view> keys)
    : reader_(reader), keys_(keys) {
  DOPPLER_CHECK(keys.size() <= 64);
  reader_.begin_object();
  position_ = reader_.position();
}

std::optional<std::size_t> JsonFields::next() {
  const auto key = reader_.next_key();
  if (!key) return std::nullopt;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (*key != keys_[i]) continue;
    if (has(i)) reader_.fail(fmt::format("the key '{}' stands twice", *key));
    seen_ |= std::uint64_t{1} << i;
    return i;
  }
  fail_unknown(*key);
}

void JsonFields::require(std::size_t key) const {
  if (!has(key)) reader_.fail_at(position_, fmt::format("the key '{}' is missing", keys_[key]));
}

void JsonFields::fail_unknown(std::string_view key) const {
  reader_.fail(fmt::format("unknown key '{}' (known: {})", key, fmt::join(keys_, ", ")));
}

}  // namespace doppler
