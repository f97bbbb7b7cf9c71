#include "doppler/render/table.h"

#include <algorithm>

#include "doppler/base/error.h"
#include "doppler/base/text.h"

namespace doppler::render {

namespace {

constexpr std::size_t kColumnGap = 2;  // spaces between columns

void append_cell(std::string& line, const std::string& cell, std::size_t width, Align align) {
  const std::size_t padding = cell.size() > width ? 0 : width - cell.size();
  if (align == Align::kRight) line.append(padding, ' ');
  line += cut_to(cell, width);
  if (align == Align::kLeft) line.append(padding, ' ');
}

void end_line(std::string& text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  text += '\n';
}

}  // namespace

std::string cut_to(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  const std::string_view head = text.substr(0, width - 1);
  return std::string(head.substr(0, valid_utf8_prefix(head))) + "…";
}

void Table::add_row(std::vector<std::string> cells) {
  DOPPLER_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths(std::size_t width) const {
  std::vector<std::size_t> widths;
  std::size_t total = 0;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = columns_[c].title.size();
    for (const auto& row : rows_) widest = std::max(widest, row[c].size());
    widths.push_back(widest);
    total += widest + (c > 0 ? kColumnGap : 0);
  }
  while (total > width) {
    std::size_t cut = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].align != Align::kLeft || widths[c] <= kLeastText) continue;
      if (cut == columns_.size() || widths[c] > widths[cut]) cut = c;
    }
    if (cut == columns_.size()) break;
    --widths[cut];
    --total;
  }
  return widths;
}

std::string Table::render(std::size_t width) const {
  const std::vector<std::size_t> columns = widths(width);
  std::string text;
  const auto line = [&](const auto& cell_of) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (c > 0) text.append(kColumnGap, ' ');
      append_cell(text, cell_of(c), columns[c], columns_[c].align);
    }
    end_line(text);
  };
  line([&](std::size_t c) { return columns_[c].title; });
  line([&](std::size_t c) { return std::string(columns[c], '-'); });
  for (const auto& row : rows_) line([&](std::size_t c) { return row[c]; });
  return text;
}

std::string wrap(std::string_view label, std::string_view text, std::size_t width) {
  std::string out(label);
  std::size_t column = label.size();
  bool first_on_line = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!first_on_line && column + 1 + word.size() > width) {
      out += "\n";
      out.append(label.size(), ' ');
      column = label.size();
      first_on_line = true;
    }
    if (!first_on_line) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first_on_line = false;
  }
  return out + "\n";
}

}  // namespace doppler::render
