// The text of a program, and errors that show the place in it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace doppler::tra {

struct ProgramSource {
  std::string file;
  std::string_view text;    // must outlive whatever points into it
  bool is_library = false;  // ours, not the user's
};

// A place, and how execution came to it.
struct ProgramPlace {
  const ProgramSource* source;
  std::size_t at;        // offset in the text
  std::string function;  // that it is in; empty: none
};

// Throws InputError "file:line:column: message", then the line and a caret below the place, then
// the calls that led there. `places` has the innermost first and is not empty. The first line names
// a place in the user's file where there is one, also for errors inside the standard library.
[[noreturn]] void fail_in_program(const std::vector<ProgramPlace>& places,
                                  std::string_view message);

// Splits the text of a program into tokens; docs/formats/program.md has the language. Not thread
// safe.

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
  std::size_t at = 0;  // where it starts

  bool is(std::string_view punctuation) const {
    return kind == Kind::kPunctuation && text == punctuation;
  }
  bool is_keyword(std::string_view keyword) const {
    return kind == Kind::kKeyword && text == keyword;
  }
};

class ProgramLexer {
 public:
  static constexpr std::size_t kLongestName = 100;

  // The source must outlive the lexer. Throws InputError where it is not UTF-8.
  explicit ProgramLexer(const ProgramSource& source);

  // The token that comes next.
  const ProgramToken& peek() const { return token_; }
  // Takes it. At the end it stays.
  ProgramToken take();

  // Throws InputError that shows the place.
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
  int open_ = 0;  // brackets
  ProgramToken token_;
};

}  // namespace doppler::tra
