// Tables and paragraphs for a terminal. Most text is ASCII: widths count bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace doppler::render {

// Columns of text are aligned left and may be cut where the table is too wide; columns of numbers
// are aligned right and never cut.
enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kRight;
};

// A table that is filled row by row.
class Table {
 public:
  static constexpr std::size_t kWidth = 100;  // columns of a terminal
  // Text columns are not cut below this width.
  static constexpr std::size_t kLeastText = 8;

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: one cell per column.
  void add_row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  // Returns a line of titles, a rule, then the rows; each line ends with a newline and has no
  // trailing spaces. Where a line would be wider than `width`, the widest text columns are cut,
  // with "…" in place of the rest; lines are still wider where their numbers alone are.
  std::string render(std::size_t width = kWidth) const;

 private:
  std::vector<std::size_t> widths(std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns the text, or where it has more than `width` bytes its beginning, up to a whole character,
// with "…" in place of the rest. REQUIRES: width > 0.
std::string cut_to(std::string_view text, std::size_t width = Table::kWidth);

// A text lists at most this many devices. Large machines repeat themselves, so that the first few
// suffice.
inline constexpr std::size_t kDevicesShown = 16;

// Returns `text` after `label`, broken at spaces so that no line is wider than `width`; further
// lines are indented by the length of the label. Words longer than a line stay whole. Ends with a
// newline.
std::string wrap(std::string_view label, std::string_view text, std::size_t width = 100);

}  // namespace doppler::render
