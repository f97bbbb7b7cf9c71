#include "state_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "doppler/base/hash.h"
#include "doppler/base/rng.h"
#include "doppler/base/text.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using namespace doppler;

constexpr std::uint32_t kRoom = 64;  // bytes by which a mutation may make something longer

template <class Bytes>
void mutate(Bytes& bytes) {
  const std::size_t size = bytes.size();
  bytes.resize(size + kRoom);
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, bytes.size()));
}

// Overwrites one of the numbers, if there are any, by one that is often forgotten.
template <class Number>
void put_number(std::vector<std::byte>& bytes, Rng& rng, std::span<const Number> numbers) {
  if (bytes.size() < sizeof(Number)) return;
  const std::size_t count = bytes.size() / sizeof(Number);
  const std::size_t at = rng.below(static_cast<std::uint32_t>(count)) * sizeof(Number);
  const Number number = numbers[rng.below(static_cast<std::uint32_t>(numbers.size()))];
  std::memcpy(bytes.data() + at, &number, sizeof(Number));
}

template <class Float>
void put_float(std::vector<std::byte>& bytes, Rng& rng) {
  using Limits = std::numeric_limits<Float>;
  static constexpr Float kNumbers[] = {0,
                                       -0.0,
                                       1,
                                       -1,
                                       1e6,
                                       2e6,
                                       Limits::max(),
                                       Limits::denorm_min(),
                                       Limits::infinity(),
                                       -Limits::infinity(),
                                       Limits::quiet_NaN()};
  put_number<Float>(bytes, rng, kNumbers);
}

void mutate_packed(std::vector<std::byte>& bytes, Rng& rng) {
  static constexpr std::uint32_t kIds[] = {0, 1, 2, 3, 4, UINT32_MAX};
  switch (rng.below(5)) {
    case 0:
      return put_float<double>(bytes, rng);
    case 1:
      return put_float<float>(bytes, rng);
    case 2:
      return put_number<std::uint32_t>(bytes, rng, kIds);
    case 3:  // another number of numbers
      return bytes.resize(rng.below(static_cast<std::uint32_t>(bytes.size()) + kRoom) / 8 * 8);
    default:
      return mutate(bytes);
  }
}

// Returns the strings that are no keys, without their quotes.
std::vector<std::string_view> values_of(std::string_view text) {
  std::vector<std::string_view> values;
  for (std::size_t begin = text.find('"'); begin != std::string_view::npos;) {
    const std::size_t end = text.find('"', begin + 1);
    if (end == std::string_view::npos) break;
    if (!text.substr(end + 1).starts_with(':')) {
      values.push_back(text.substr(begin + 1, end - begin - 1));
    }
    begin = text.find('"', end + 1);
  }
  return values;
}

// Mutates one of the packed strings, or the text if the string that was drawn is not packed.
void mutate_file(std::string& text, Rng& rng) {
  const std::vector<std::string_view> values = values_of(text);
  if (values.empty() || rng.chance(0.3)) return mutate(text);
  const std::string_view value = values[rng.below(static_cast<std::uint32_t>(values.size()))];
  auto bytes = from_base64(value);
  if (!bytes) return mutate(text);
  mutate_packed(*bytes, rng);
  text.replace(static_cast<std::size_t>(value.data() - text.data()), value.size(),
               to_base64(*bytes));
}

// Replaces the last checksum by the one that belongs to the text.
void seal(std::string& text) {
  static constexpr std::string_view kKey = "\"checksum\": ";
  const std::size_t key = text.rfind(kKey);
  if (key == std::string::npos) return;
  const std::size_t begin = key + kKey.size();
  if (text.size() < begin + 18) return;
  Hasher hasher;
  hasher.add_bytes(std::string_view(text).substr(0, begin));
  text.replace(begin, 18, "\"" + hash_to_string(hasher.value()) + "\"");
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  Rng rng(seed);
  std::string text(reinterpret_cast<const char*>(data), size);
  if (!text.starts_with('{') || rng.chance(0.001)) text = sound_file(rng.below(1000));
  mutate_file(text, rng);
  seal(text);
  text.resize(std::min(text.size(), most));
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
