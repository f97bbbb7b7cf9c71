// Lists of opcodes and other words.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace doppler::formats {

template <std::size_t kCount>
bool is_in(std::string_view word, const std::string_view (&list)[kCount]) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

}  // namespace doppler::formats
