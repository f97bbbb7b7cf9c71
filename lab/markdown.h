// Tables in Markdown.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace doppler::lab {

class MarkdownTable {
 public:
  explicit MarkdownTable(std::vector<std::string> titles);

  // REQUIRES: a cell for each title.
  void add(const std::vector<std::string>& cells);
  // Ends with an empty line.
  std::string text() const { return text_ + "\n"; }

 private:
  std::size_t columns_;
  std::string text_;
};

}  // namespace doppler::lab
