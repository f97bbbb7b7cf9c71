// The text of a program, its tokens (docs/formats/program.md has the language), and errors that
// show a position in it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace doppler::tra {

struct ProgramSource {
  std::string file;
  std::string_view text;    // must outlive all tokens and trees made from it
  bool is_library = false;  // our standard library, not the user's text
};

// A position in a program, in a function or outside.
struct ProgramPlace {
  const ProgramSource* source;
  std::size_t at;        // offset in the text
  std::string function;  // the enclosing function; empty: none
};

// Throws SourceError with several lines: "file:line:column: message", the line with a caret below
// the position, and the calls that led there. The first line names a position in the user's file if
// there is one, also for errors inside the standard library. REQUIRES: `places` is not empty and
// has the innermost call first.
[[noreturn]] void fail_in_program(const std::vector<ProgramPlace>& places,
                                  std::string_view message);

struct ProgramToken {
  enum class Kind {
    kName,         // letters, digits, _ and {name}; `text` is as written
    kKeyword,      // a name with a fixed meaning
    kNumber,       // `number` is its value
    kPunctuation,  // ( ) [ ] < > , = + - * / : ->
    kLineEnd,      // where a statement may end
    kEnd,
  };

  Kind kind = Kind::kEnd;
  std::string_view text;
  double number = 0.0;
  std::size_t at = 0;  // offset of its first character

  bool is(std::string_view punctuation) const {
    return kind == Kind::kPunctuation && text == punctuation;
  }
  bool is_keyword(std::string_view keyword) const {
    return kind == Kind::kKeyword && text == keyword;
  }
};

// A splitter of the text of a program into tokens. Not thread safe.
class ProgramLexer {
 public:
  static constexpr std::size_t kLongestName = 100;

  // The source must outlive the lexer. Throws InputError if it is not UTF-8.
  explicit ProgramLexer(const ProgramSource& source);

  // Returns the token that comes next.
  const ProgramToken& peek() const { return token_; }
  // Returns it and moves to the one after it. At the end, kEnd comes again and again.
  ProgramToken take();

  // Throws InputError that shows the position.
  [[noreturn]] void fail_at(std::size_t offset, const std::string& message) const;

 private:
  void scan();
  bool skip_space();
  bool line_goes_on() const;
  std::size_t name_end() const;
  void scan_number();

  const ProgramSource& source_;
  std::string_view text_;
  std::size_t at_ = 0;
  int open_ = 0;  // number of open brackets
  ProgramToken token_;
};

}  // namespace doppler::tra
