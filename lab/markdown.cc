#include "lab/markdown.h"

#include "doppler/base/error.h"

namespace doppler::lab {

MarkdownTable::MarkdownTable(std::vector<std::string> titles) : columns_(titles.size()) {
  add(titles);
  text_ += "|";
  for (std::size_t i = 0; i < columns_; ++i) text_ += "---|";
  text_ += "\n";
}

void MarkdownTable::add(const std::vector<std::string>& cells) {
  DOPPLER_CHECK(cells.size() == columns_);
  text_ += "|";
  for (const std::string& cell : cells) text_ += cell.empty() ? " |" : " " + cell + " |";
  text_ += "\n";
}

}  // namespace doppler::lab
