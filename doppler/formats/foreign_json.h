// Reading JSON that others write: keys that mean nothing here are passed over, and numbers may be
// written as strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "doppler/base/json_reader.h"

namespace doppler::formats {

// More nodes or edges than these are taken for a file that was made to fill the memory.
inline constexpr std::size_t kMaxForeignNodes = 20'000'000;
inline constexpr std::size_t kMaxForeignEdges = 50'000'000;

// Calls read(key) for every key of the object that comes next; where it returns false, the value is
// passed over.
template <class Read>
void read_object(JsonReader& reader, const Read& read) {
  reader.begin_object();
  while (const auto key = reader.next_key()) {
    const std::string name(*key);
    if (!read(std::string_view(name))) reader.skip_value();
  }
}

// Calls read() for every element of the array that comes next.
template <class Read>
void read_array(JsonReader& reader, const Read& read) {
  reader.begin_array();
  while (reader.next_element()) read();
}

// A number, also where it stands in quotes. Throws InputError for anything else.
double read_number(JsonReader& reader);
// The same where it must not be negative; `what` names it in errors.
double read_quantity(JsonReader& reader, std::string_view what);
// A string or a number, as text: what formats take for identifiers.
std::string read_identifier(JsonReader& reader);
// true or false, 1 or 0.
bool read_flag(JsonReader& reader);

}  // namespace doppler::formats
