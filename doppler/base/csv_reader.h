// CsvReader, for tables of text that this project has written: a line of titles, then rows of as
// many fields with commas between them, none quoted. Not thread safe.
#pragma once

#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace doppler {

class CsvReader {
 public:
  // Reads the line of titles. `file` names the source in errors; `text` must outlive this object.
  // Column i of the other functions is the one whose title is the i-th of `titles`; others are
  // ignored. Throws InputError if a title is missing.
  CsvReader(std::string file, std::string_view text, std::initializer_list<const char*> titles);

  // Moves to the next row. Returns false if there is none. Throws InputError if the row has another
  // number of fields than there are titles.
  bool next();

  std::string_view text(std::size_t column) const { return fields_[columns_[column]]; }
  // Returns the field as a number. Throws InputError if it is not one.
  template <class Number>
  Number number(std::size_t column) const {
    const std::string_view field = text(column);
    Number value{};
    const auto parsed = std::from_chars(field.data(), field.data() + field.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != field.data() + field.size()) {
      fail_number(field);
    }
    return value;
  }

  // Throws InputError "file:line: message" for the current row.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  void read_line();
  [[noreturn]] void fail_number(std::string_view field) const;

  std::string file_;
  std::string_view rest_;
  std::size_t line_ = 0, titles_ = 0;
  std::vector<std::size_t> columns_;
  std::vector<std::string_view> fields_;
};

}  // namespace doppler
