#include "doppler/base/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "doppler/base/error.h"

namespace doppler {

CsvReader::CsvReader(std::string file, std::string_view text,
                     std::initializer_list<const char*> titles)
    : file_(std::move(file)), rest_(text) {
  read_line();
  titles_ = fields_.size();
  for (const char* title : titles) {
    const auto found = std::find(fields_.begin(), fields_.end(), title);
    if (found == fields_.end()) fail(fmt::format("no column '{}'", title));
    columns_.push_back(static_cast<std::size_t>(found - fields_.begin()));
  }
}

bool CsvReader::next() {
  if (rest_.empty()) return false;
  read_line();
  if (fields_.size() != titles_) {
    fail(fmt::format("{} fields instead of {}", fields_.size(), titles_));
  }
  return true;
}

void CsvReader::read_line() {
  ++line_;
  fields_.clear();
  const std::size_t end = std::min(rest_.find('\n'), rest_.size());
  std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  for (;;) {
    const std::size_t comma = line.find(',');
    fields_.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return;
    line.remove_prefix(comma + 1);
  }
}

void CsvReader::fail(const std::string& message) const {
  throw InputError(fmt::format("{}:{}: {}", file_, line_, message));
}

void CsvReader::fail_number(std::string_view field) const {
  fail(fmt::format("'{}' is not a number", field));
}

}  // namespace doppler
