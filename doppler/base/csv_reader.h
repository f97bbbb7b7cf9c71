// Tables of text that this project has written: a line of titles, then rows of as many fields with
// commas between them, none quoted.
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
  // `text` must outlive this object. Columns are found by their titles, and counted in the order
  // given here. Throws InputError where one is missing.
  CsvReader(std::string file, std::string_view text, std::initializer_list<const char*> titles);

  // Goes to the next row; false where there is none. Throws InputError for one of another length.
  bool next();

  std::string_view text(std::size_t column) const { return fields_[columns_[column]]; }
  // Throws InputError for what is not a number.
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

  // Throws InputError with the line of the row.
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
