#include "doppler/formats/foreign_json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace doppler::formats {

double read_number(JsonReader& reader) {
  if (reader.peek() != JsonReader::Kind::kString) return reader.number();
  const std::string_view text = reader.string_view();
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != end || !std::isfinite(value)) {
    reader.fail("expected a number");
  }
  return value;
}

double read_quantity(JsonReader& reader, std::string_view what) {
  const double value = read_number(reader);
  if (value < 0.0) reader.fail(fmt::format("{} must be a finite number >= 0", what));
  return value;
}

std::string read_identifier(JsonReader& reader) {
  if (reader.peek() == JsonReader::Kind::kNumber) return fmt::format("{}", reader.number());
  return reader.string();
}

bool read_flag(JsonReader& reader) {
  if (reader.peek() == JsonReader::Kind::kBool) return reader.boolean();
  const double value = reader.number();
  if (value != 0.0 && value != 1.0) reader.fail("expected true, false, 1 or 0");
  return value == 1.0;
}

}  // namespace doppler::formats
