#include "doppler/formats/dot/dot_lexer.h"

#include <algorithm>
#include <utility>

#include "doppler/base/text.h"

namespace doppler::formats {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

bool DotToken::is_keyword(std::string_view keyword) const {
  return kind == Kind::kId && !quoted &&
         std::equal(text.begin(), text.end(), keyword.begin(), keyword.end(),
                    [](char c, char wanted) { return to_lower(c) == wanted; });
}

DotLexer::DotLexer(const std::string& file, std::string_view text) : file_(file), text_(text) {
  require_utf8(file_, text_);
  if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // skips a byte order mark
  scan();
}

void DotLexer::fail_at(std::size_t offset, const std::string& message) const {
  fail_at_offset(file_, text_, offset, message);
}

DotToken DotLexer::take() {
  DotToken taken = std::move(token_);
  scan();
  return taken;
}

// Passes over white space, comments as in C and C++, and lines that start with '#'.
void DotLexer::skip_space() {
  while (at_ < text_.size()) {
    const std::string_view rest = text_.substr(at_);
    const bool line_start = at_ == 0 || text_[at_ - 1] == '\n';
    if (is_space(rest[0])) {
      ++at_;
    } else if (rest.starts_with("//") || (rest[0] == '#' && line_start)) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (rest.starts_with("/*")) {
      const std::size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) fail_at(at_, "the comment does not end");
      at_ = end + 2;
    } else {
      return;
    }
  }
}

void DotLexer::scan() {
  skip_space();
  token_ = {};
  token_.at = at_;
  if (at_ == text_.size()) return;
  const char c = text_[at_];
  const auto rest = text_.substr(at_);
  const auto take_while = [&](const auto& accept) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && accept(text_[at_])) ++at_;
    token_.text += text_.substr(begin, at_ - begin);
  };
  if (rest.starts_with("->") || rest.starts_with("--")) {
    token_.kind = DotToken::Kind::kPunctuation;
    token_.text = rest.substr(0, 2);
    at_ += 2;
  } else if (std::string_view("{}[]=;,:").find(c) != std::string_view::npos) {
    token_.kind = DotToken::Kind::kPunctuation;
    token_.text = c;
    ++at_;
  } else if (c == '"') {
    scan_quoted();
  } else if (c == '<') {
    scan_html();
  } else if (is_letter(c)) {
    token_.kind = DotToken::Kind::kId;
    take_while([](char d) { return is_letter(d) || is_digit(d); });
  } else if (is_digit(c) || c == '.' || c == '-') {
    scan_number();
  } else {
    fail_at(at_, "a character that has no meaning here");
  }
}

// Scans a number. DOT's numbers have no exponent, but it is accepted here: splitting 1e5 into 1 and
// e5, as the language would, silently changes a cost.
void DotLexer::scan_number() {
  token_.kind = DotToken::Kind::kId;
  const std::size_t begin = at_++;
  const auto skip_digits = [&] {
    while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) ++at_;
  };
  skip_digits();
  if (at_ < text_.size() && to_lower(text_[at_]) == 'e') {
    ++at_;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
    skip_digits();
  }
  token_.text = text_.substr(begin, at_ - begin);
  const bool has_digit = std::any_of(token_.text.begin(), token_.text.end(), is_digit);
  if (!has_digit || (at_ < text_.size() && is_letter(text_[at_]))) {
    fail_at(begin, "not a number; a name that starts like one must stand in double quotes");
  }
}

// Scans a quoted string, and further ones joined to it with '+'. \" stands for a quote, \\ for a
// backslash, and a backslash before a line end for nothing; any other backslash stands for itself.
void DotLexer::scan_quoted() {
  token_.kind = DotToken::Kind::kId;
  token_.quoted = true;
  for (;;) {
    const std::size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        const char escaped = text_[at_ + 1];
        if (escaped == '"' || escaped == '\\') {
          token_.text += escaped;
          at_ += 2;
          continue;
        }
        if (escaped == '\n') {
          at_ += 2;
          continue;
        }
      }
      token_.text += text_[at_++];
    }
    if (at_ == text_.size()) fail_at(begin, "the string does not end");
    ++at_;
    const std::size_t end = at_;
    skip_space();
    if (at_ == text_.size() || text_[at_] != '+') {
      at_ = end;
      return;
    }
    ++at_;
    skip_space();
    if (at_ == text_.size() || text_[at_] != '"') fail_at(at_, "expected a string after '+'");
  }
}

void DotLexer::scan_html() {
  token_.kind = DotToken::Kind::kId;
  token_.quoted = true;
  const std::size_t begin = at_;
  std::size_t open = 0;
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '<') ++open;
    if (text_[at_] == '>' && --open == 0) {
      token_.text = text_.substr(begin + 1, at_ - begin - 1);
      ++at_;
      return;
    }
  }
  fail_at(begin, "the HTML-like string does not end");
}

}  // namespace doppler::formats
