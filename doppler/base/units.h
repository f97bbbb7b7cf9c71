// Quantities as people read and write them. Pure functions, so safe to call from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace doppler {

inline constexpr double kSecondsPerMicro = 1e-6;

// Returns "1.50 GiB" or "512 B".
std::string format_bytes(double bytes);

// Reads "4096", "16GB" (powers of 1000), "1.5 GiB" or "16G" (powers of 1024), in upper or lower
// case. Returns nothing if the text is none of these or means 2^60 bytes or more.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

// Returns a time that is in `unit` as text. Seconds ("s") are scaled, as in "1.234 ms"; other units
// are not, as in "123.40 cycles".
std::string format_time(double time, const std::string& unit);

// Returns a count with a letter for its power of 1000: "1.20 T", "34.5 k".
std::string format_count(double count);

// Returns the number with commas: "1,234,567".
std::string format_integer(std::uint64_t value);

}  // namespace doppler
