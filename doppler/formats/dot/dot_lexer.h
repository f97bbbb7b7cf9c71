// Splits DOT text into tokens; docs/formats/dot.md says which part of the language is read. Not
// thread safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace doppler::formats {

struct DotToken {
  enum class Kind {
    kId,           // a name, number, quoted or HTML-like string; `text` is its meaning
    kPunctuation,  // { } [ ] = ; , : and the edges -> and --, as in `text`
    kEnd,
  };

  Kind kind = Kind::kEnd;
  std::string text;
  bool quoted = false;  // a quoted string is never a keyword
  std::size_t at = 0;   // where it starts

  bool is(std::string_view punctuation) const {
    return kind == Kind::kPunctuation && text == punctuation;
  }
  // Keywords are the same in any case of letters. REQUIRES: `keyword` is in lower case.
  bool is_keyword(std::string_view keyword) const;
};

class DotLexer {
 public:
  // `file` names the source in errors. Both must outlive the lexer. Throws InputError where the
  // text is not UTF-8.
  DotLexer(const std::string& file, std::string_view text);

  // The token that comes next.
  const DotToken& peek() const { return token_; }
  // Takes it. At the end it stays.
  DotToken take();

  // Throws InputError with file:line:column.
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
