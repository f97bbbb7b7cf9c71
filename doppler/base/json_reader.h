// A pull parser for JSON (RFC 8259): the caller asks for what it expects, values are handed out as
// they are met, nothing is kept. Reads a million-node graph without a document tree, and every
// error, syntax or meaning, carries file:line:column.
//
//   reader.begin_object();
//   while (auto key = reader.next_key()) {
//     if (*key == "name") name = reader.string(); else reader.skip_value();
//   }
//
// Nesting is limited to kMaxDepth, so hostile files cannot exhaust the stack. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace doppler {

class JsonReader {
 public:
  enum class Kind { kObject, kArray, kString, kNumber, kBool, kNull };
  static constexpr int kMaxDepth = 64;

  // `file` names the source in errors. `text` must outlive the reader. Reading starts at `start`:
  // the beginning, or the value_position() of a value that another reader of the same text passed
  // over. Throws InputError where the text is not UTF-8, as JSON is.
  JsonReader(std::string file, std::string_view text, std::size_t start = 0);

  // The kind of the value that comes next.
  Kind peek();

  void begin_object();
  // The next key of the innermost object, or nothing at its end (which is consumed). The view is
  // valid until the next call of any kind.
  std::optional<std::string_view> next_key();

  void begin_array();
  // True where another element follows; false at the end (which is consumed).
  bool next_element();

  std::string string();
  // Like string(), without a copy. The view is valid until the next call of any kind.
  std::string_view string_view();
  double number();  // finite: JSON has no other
  // Requires an integer in [0, max], written without fraction.
  std::uint64_t unsigned_integer(std::uint64_t max);
  bool boolean();
  void null();
  void skip_value();

  // Whether nothing but white space is left.
  bool done();
  // Requires that.
  void finish();

  // The place of the value that comes next.
  std::size_t value_position();

  // Throws InputError "file:line:column: message" for the start of the last value or key read.
  [[noreturn]] void fail(const std::string& message) const;
  // The place of the last value or key read, as an opaque offset for fail_at.
  std::size_t position() const { return token_start_; }
  [[noreturn]] void fail_at(std::size_t offset, const std::string& message) const;

 private:
  enum class Scope : std::uint8_t { kObject, kArray };
  struct Frame {
    Scope scope;
    bool empty;
  };

  [[noreturn]] void fail_here(const std::string& message) const;
  void skip_space();
  char next_char();
  void expect(char c, const char* what);
  void expect_literal(std::string_view literal);
  std::string_view number_text();
  std::string_view scan_string();
  void open(Scope scope);

  std::string file_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t token_start_ = 0;
  std::vector<Frame> frames_;
  std::string scratch_;  // the unescaped form of the last string, where it had escapes
};

}  // namespace doppler
