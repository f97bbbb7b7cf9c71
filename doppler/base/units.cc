#include "doppler/base/units.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace doppler {
namespace {

// Returns four significant digits without an exponent. REQUIRES: a value from 1 to 9999.
std::string four_digits(double value) {
  const double magnitude = std::fabs(value);
  const int decimals = magnitude >= 1000 ? 0 : magnitude >= 100 ? 1 : magnitude >= 10 ? 2 : 3;
  return fmt::format("{:.{}f}", value, decimals);
}

// Returns three significant digits of a number in the unit chosen for it, with an exponent if even
// the largest unit is too small.
std::string three_digits(double value) {
  if (value >= 1e6) return fmt::format("{:.3g}", value);
  return fmt::format("{:.{}f}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

}  // namespace

std::string format_bytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (std::fabs(bytes) >= 1024.0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024.0;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} B", bytes);
  return fmt::format("{} {}", three_digits(bytes), kUnits[unit]);
}

std::string format_time(double time, const std::string& unit) {
  if (!std::isfinite(time)) return "inf";
  if (unit != "s") {
    const double magnitude = std::fabs(time);
    if (magnitude != 0.0 && (magnitude < 1e-3 || magnitude >= 1e7)) {
      return fmt::format("{:.4g} {}", time, unit);
    }
    return fmt::format("{:.{}f} {}", time, magnitude >= 100 ? 2 : 3, unit);
  }
  const double magnitude = std::fabs(time);
  if (magnitude == 0.0) return "0 s";
  if (magnitude >= 1.0)
    return fmt::format("{} s", magnitude >= 1e4 ? fmt::format("{:.4g}", time) : four_digits(time));
  if (magnitude >= 1e-3) return fmt::format("{} ms", four_digits(time * 1e3));
  if (magnitude >= 1e-6) return fmt::format("{} us", four_digits(time * 1e6));
  return fmt::format("{:.4g} ns", time * 1e9);
}

std::string format_count(double count) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P", " E"};
  std::size_t unit = 0;
  while (std::fabs(count) >= 1000.0 && unit + 1 < std::size(kUnits)) {
    count /= 1000.0;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.4g}", count);
  return three_digits(count) + kUnits[unit];
}

std::string format_integer(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc{} || !(value >= 0.0)) return std::nullopt;
  std::string unit;
  for (const char* c = parsed.ptr; c != end; ++c) {
    if (*c != ' ') unit += static_cast<char>(*c >= 'A' && *c <= 'Z' ? *c + 0x20 : *c);
  }
  if (!unit.empty() && unit != "b") {
    const std::size_t power = std::string_view("kmgt").find(unit[0]);
    const std::string_view rest = std::string_view(unit).substr(1);
    if (power == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "ib")) {
      return std::nullopt;
    }
    value *= std::pow(rest == "b" ? 1000.0 : 1024.0, static_cast<double>(power + 1));
  }
  if (!(value < 0x1p60)) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(value));
}

}  // namespace doppler
