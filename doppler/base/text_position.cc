#include "doppler/base/text_position.h"

#include <fmt/format.h>

#include <algorithm>

#include "doppler/base/error.h"

namespace doppler {
namespace {

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20;
}

}  // namespace

void fail_at_offset(std::string_view file, std::string_view text, std::size_t offset,
                    std::string_view message) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t last_newline = before.rfind('\n');
  const std::size_t line_start = last_newline == std::string_view::npos ? 0 : last_newline + 1;
  std::string line_text =
      fmt::format("{}:{}:{}: {}", file, line, before.size() - line_start + 1, message);
  // A message may quote a name from the file; it stays one line whatever that name holds.
  std::replace_if(line_text.begin(), line_text.end(), is_control, '?');
  throw InputError(line_text);
}

}  // namespace doppler
