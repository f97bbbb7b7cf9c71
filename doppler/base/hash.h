// Hasher, a 64-bit hash of a sequence of values, for fingerprints of graphs and problems. It is the
// same on all machines of one byte order, and no protection against an adversary. Not thread safe.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "doppler/base/rng.h"

namespace doppler {

class Hasher {
 public:
  // Adds the length and the bytes, so that "ab", "c" and "a", "bc" give different hashes.
  void add_bytes(std::string_view bytes) {
    add_word(bytes.size());
    while (bytes.size() >= 8) {
      std::uint64_t word;
      std::memcpy(&word, bytes.data(), 8);
      add_word(word);
      bytes.remove_prefix(8);
    }
    std::uint64_t word = 0;
    // An empty view may be a null pointer, which memcpy must not be given.
    if (!bytes.empty()) std::memcpy(&word, bytes.data(), bytes.size());
    add_word(word);
  }

  template <class T>
  requires std::is_trivially_copyable_v<T>
  void add_span(std::span<const T> values) {
    add_bytes({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }

  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void add(T value) {
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof(value));
    add_word(word);
  }

  std::uint64_t value() const { return state_; }

 private:
  void add_word(std::uint64_t word) { state_ = mix64(state_ ^ word) + word; }

  std::uint64_t state_ = 0x243f6a8885a308d3ull;  // the first digits of pi: nothing up our sleeve
};

// Returns sixteen lower-case hexadecimal digits, the form in which files carry hashes.
inline std::string hash_to_string(std::uint64_t hash) {
  std::string digits(16, '0');
  for (std::size_t i = digits.size(); i-- > 0; hash >>= 4)
    digits[i] = "0123456789abcdef"[hash & 15];
  return digits;
}

}  // namespace doppler
