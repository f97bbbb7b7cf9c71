#include "doppler/tra/language/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "doppler/base/error.h"
#include "doppler/base/text.h"

namespace doppler::tra {

namespace {

// The longest part of a line that a message shows, in bytes; longer lines are cut around the
// position.
constexpr std::size_t kShown = 120;

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// Returns the text with '?' in place of control characters, so that nothing in a file can steer the
// terminal on which an error is shown.
std::string printable(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(),
      [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }, '?');
  return result;
}

// A position as an error shows it.
struct Shown {
  std::string position;  // file:line:column
  std::string lines;     // the source line and the caret; empty for an empty file
};

// Returns the offset to show for `at`. The end of the text is shown right behind its last visible
// character.
std::size_t shown_place(std::string_view text, std::size_t at) {
  if (at < text.size()) return at;
  return text.find_last_not_of(" \t\r\n") + 1;  // npos + 1 is 0
}

Shown show(const ProgramPlace& place) {
  const std::string_view text = place.source->text;
  const std::size_t at = shown_place(text, place.at);
  const auto line_number =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  std::size_t begin = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  std::size_t end = std::min(text.find('\n', at), text.size());
  Shown result;
  result.position =
      printable(fmt::format("{}:{}:{}", place.source->file, line_number, at - begin + 1));

  if (at == 0 && place.at >= text.size()) return result;
  while (end > begin && (text[end - 1] == '\r' || text[end - 1] == ' ')) --end;
  const bool cut_front = at - begin > kShown / 2 && end - begin > kShown;
  if (cut_front) {
    begin = at - kShown / 2;
    while (begin < at && continues_character(text[begin])) ++begin;
  }
  const bool cut_back = end > begin && end - begin > kShown;
  if (cut_back) {
    end = begin + kShown;
    while (end > begin && continues_character(text[end])) --end;
  }
  const std::string_view line = text.substr(begin, std::max(begin, end) - begin);
  std::string caret;  // has tabs where the line has them, so that ^ is below its character
  for (const char c : text.substr(begin, at - begin)) {
    if (!continues_character(c)) caret += c == '\t' ? '\t' : ' ';
  }
  result.lines = fmt::format("\n  {}{}{}\n  {}{}^", cut_front ? "..." : "", printable(line),
                             cut_back ? "..." : "", cut_front ? "   " : "", caret);
  return result;
}

// --- tokens ---

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

void fail_in_program(const std::vector<ProgramPlace>& places, std::string_view message) {
  std::size_t first = 0;
  while (first + 1 < places.size() && places[first].source->is_library) ++first;
  std::string text;
  const Shown main = show(places[first]);
  text = fmt::format("{}: {}{}{}", main.position,
                     first > 0 ? fmt::format("in {}: ", places[first - 1].function) : "",
                     printable(message), main.lines);
  for (std::size_t p = first; p-- > 0;) {
    const Shown inner = show(places[p]);
    text += fmt::format("\nin {}, {}:{}", places[p].function, inner.position, inner.lines);
  }
  for (std::size_t p = first + 1; p < places.size(); ++p) {
    const Shown outer = show(places[p]);
    text += fmt::format("\n{} was called at {}:{}", places[p - 1].function, outer.position,
                        outer.lines);
  }
  throw SourceError(text);
}

// --- tokens ---

ProgramLexer::ProgramLexer(const ProgramSource& source) : source_(source), text_(source.text) {
  require_utf8(source.file, text_);
  if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // skips a byte order mark
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

// Returns whether the statement goes on after the end of this line: if a bracket is open, or the
// last token is an operator, a comma or the like, behind which something must follow. Lines without
// a token end no statement either.
bool ProgramLexer::line_goes_on() const {
  constexpr std::string_view kOpen = ",=+-*/->:";
  return open_ > 0 || token_.kind == TokenKind::kLineEnd ||
         (token_.kind == TokenKind::kPunctuation &&
          kOpen.find(token_.text) != std::string_view::npos && !token_.is(">"));
}

// Skips space, comments and line ends. Stops at a line end that ends a statement, and returns
// whether it did.
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

// Returns the offset just behind the name that starts at the current position.
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
