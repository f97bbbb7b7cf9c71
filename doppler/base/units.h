// Quantities as people read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace doppler {

inline constexpr double kSecondsPerMicro = 1e-6;

// "1.50 GiB", "512 B".
std::string format_bytes(double bytes);

// "4096", "16GB" (powers of 1000), "1.5 GiB" or "16G" (powers of 1024), in any case of letters;
// nothing where it is none of these or 2^60 and more.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

// A time in the graph's unit: in seconds scaled to "1.234 ms"; any other unit as "123.4 <unit>".
std::string format_time(double time, const std::string& unit);

// "1.2e+12" style counts as "1.20 T", "34.5 k".
std::string format_count(double count);

// "1,234,567".
std::string format_integer(std::uint64_t value);

}  // namespace doppler
