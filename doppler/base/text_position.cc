#include "doppler/base/text_position.h"

#include <fmt/format.h>

#include <algorithm>

#include "doppler/base/error.h"

namespace doppler {

void fail_at_offset(std::string_view file, std::string_view text, std::size_t offset,
                    std::string_view message) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t last_newline = before.rfind('\n');
  const std::size_t line_start = last_newline == std::string_view::npos ? 0 : last_newline + 1;
  throw InputError(
      fmt::format("{}:{}:{}: {}", file, line, before.size() - line_start + 1, message));
}

}  // namespace doppler
