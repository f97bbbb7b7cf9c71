// What tests ask of printed text.
#pragma once

#include <cstddef>
#include <string>

namespace doppler::test {

// How often `part` stands in `text`, overlaps counted.
inline std::size_t times_found(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace doppler::test
