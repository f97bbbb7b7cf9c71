// DotLexer, which splits DOT text into tokens; docs/formats/dot.md says which part of the language
// is read. Not thread safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace doppler::formats {

struct DotToken {
  enum class Kind {
    kId,           // a name, number, quoted or HTML-like string; `text` is it without quotes
    kPunctuation,  // { } [ ] = ; , : and the edges -> and --, as in `text`
    kEnd,
  };

  Kind kind = Kind::kEnd;
  std::string text;
  bool quoted = false;  // a quoted string is never a keyword
  std::size_t at = 0;   // the offset of its first character

  bool is(std::string_view punctuation) const {
    return kind == Kind::kPunctuation && text == punctuation;
  }
  // Returns whether it is this keyword, in upper or lower case. REQUIRES: `keyword` is in lower
  // case.
  bool is_keyword(std::string_view keyword) const;
};

class DotLexer {
 public:
  // `file` names the source in errors. Both arguments must outlive the lexer. Throws InputError if
  // the text is not UTF-8.
  DotLexer(const std::string& file, std::string_view text);

  // Returns the token that comes next.
  const DotToken& peek() const { return token_; }
  // Returns it and moves to the one after it. At the end, kEnd comes again and again. Throws
  // InputError if the text after it is no token.
  DotToken take();

  // Throws InputError "file:line:column: message".
  [[noreturn]] void fail_at(std::size_t offset, const std::string& message) const;

 private:
  void skip_space();
  void scan();
  void scan_number();
  void scan_quoted();
  void scan_html();

  const std::string& file_;
  std::string_view text_;
  std::size_t at_ = 0;
  DotToken token_;
};

}  // namespace doppler::formats
