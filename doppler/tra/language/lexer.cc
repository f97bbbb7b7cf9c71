#include "doppler/tra/language/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "doppler/base/utf8.h"

namespace doppler::tra {
namespace {

using TokenKind = ProgramToken::Kind;

constexpr std::array<std::string_view, 10> kKeywords = {
    "dim", "input", "param", "sparse", "output", "fn", "return", "repeat", "as", "end"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

ProgramLexer::ProgramLexer(const ProgramSource& source) : source_(source), text_(source.text) {
  require_utf8(source.file, text_);
  if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark is harmless
  token_.kind = TokenKind::kLineEnd;
  scan();
}

void ProgramLexer::fail_at(std::size_t offset, const std::string& message) const {
  fail_in_program({{&source_, offset, {}}}, message);
}

ProgramToken ProgramLexer::take() {
  const ProgramToken taken = token_;
  scan();
  return taken;
}

// A statement ends with its line, unless a bracket is open or something must follow.
bool ProgramLexer::line_goes_on() const {
  constexpr std::string_view kOpen = ",=+-*/->:";
  return open_ > 0 || token_.kind == TokenKind::kLineEnd ||
         (token_.kind == TokenKind::kPunctuation &&
          kOpen.find(token_.text) != std::string_view::npos && !token_.is(">"));
}

// Whether a line ended that ends a statement.
bool ProgramLexer::skip_space() {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      if (at_ == text_.size()) return false;
    }
    if (text_[at_] == '\n' && !line_goes_on()) return true;
    if (text_[at_] != ' ' && text_[at_] != '\t' && text_[at_] != '\r' && text_[at_] != '\n') break;
  }
  return false;
}

// Just behind the name that starts here.
std::size_t ProgramLexer::name_end() const {
  std::size_t end = at_;
  while (end < text_.size()) {
    if (is_letter(text_[end]) || is_digit(text_[end])) {
      ++end;
    } else if (text_[end] == '{') {
      const std::size_t open = end++;
      while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
      if (end == open + 1 || is_digit(text_[open + 1]) || end == text_.size() ||
          text_[end] != '}') {
        fail_at(open, "expected the name of a number in braces, as in w{i}");
      }
      ++end;
    } else {
      break;
    }
  }
  return end;
}

void ProgramLexer::scan_number() {
  const char* const begin = text_.data() + at_;
  const char* const end = text_.data() + text_.size();
  const auto [stop, error] = std::from_chars(begin, end, token_.number);
  if (error != std::errc() || !std::isfinite(token_.number)) {
    fail_at(at_, "this is not a number that can be represented");
  }
  if (stop < end && (is_letter(*stop) || is_digit(*stop) || *stop == '{' || *stop == '.')) {
    fail_at(at_, "this is not a number, and a name cannot start like one");
  }
  token_.kind = TokenKind::kNumber;
  token_.text = text_.substr(at_, static_cast<std::size_t>(stop - begin));
}

void ProgramLexer::scan() {
  const bool line_ended = skip_space();
  token_ = {};
  token_.at = at_;
  if (line_ended) {
    token_.kind = TokenKind::kLineEnd;
    token_.text = text_.substr(at_++, 1);
    return;
  }
  if (at_ == text_.size()) return;
  const char c = text_[at_];
  if (is_letter(c) || c == '{') {
    token_.text = text_.substr(at_, name_end() - at_);
    if (token_.text.size() > kLongestName) {
      fail_at(at_, fmt::format("a name of more than {} characters", kLongestName));
    }
    const bool keyword =
        std::find(kKeywords.begin(), kKeywords.end(), token_.text) != kKeywords.end();
    token_.kind = keyword ? TokenKind::kKeyword : TokenKind::kName;
  } else if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
    scan_number();
  } else if (text_.substr(at_).starts_with("->")) {
    token_.kind = TokenKind::kPunctuation;
    token_.text = text_.substr(at_, 2);
  } else if (std::string_view("()[]<>,=+-*/:").find(c) != std::string_view::npos) {
    token_.kind = TokenKind::kPunctuation;
    token_.text = text_.substr(at_, 1);
    if (c == '(' || c == '[' || c == '<') ++open_;
    if (c == ')' || c == ']' || c == '>') open_ = std::max(0, open_ - 1);
  } else {
    fail_at(at_, "a character that has no meaning here");
  }
  at_ += token_.text.size();
}

}  // namespace doppler::tra
