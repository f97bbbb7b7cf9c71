// Text tables for a terminal. Cells are plain ASCII.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace doppler::render {

// Left for text, which may be cut where the table is too wide; right for numbers, which never are.
enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kRight;
};

class Table {
 public:
  static constexpr std::size_t kWidth = 100;
  // Text columns are not cut below this width.
  static constexpr std::size_t kLeastText = 8;

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: one cell per column.
  void add_row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  // A line of titles, a rule, then the rows, each ended with a newline and without spaces at its
  // end. Where a line would pass `width`, the widest text columns are cut, with "…" in place of the
  // rest; lines may still pass it where numbers alone do.
  std::string render(std::size_t width = kWidth) const;

 private:
  std::vector<std::size_t> widths(std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Breaks long sentences into lines.

// Devices that a text lists. Large machines repeat themselves: a glance at the first few says it
// all.
inline constexpr std::size_t kDevicesShown = 16;

// `text` after `label`, broken at spaces so that no line passes `width`; further lines are indented
// as far as the label is long. Words longer than a line stay whole. Ends with a newline. Widths
// count bytes: texts are ASCII.
std::string wrap(std::string_view label, std::string_view text, std::size_t width = 100);

}  // namespace doppler::render
