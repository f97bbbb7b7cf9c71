// Reading JSON objects with a fixed set of keys, as all our formats have: a key that is unknown or
// stands twice is refused with its place.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/base/json_reader.h"

namespace doppler {

// Reads the object that comes next. `read(key)` reads the key's value and returns true, or returns
// false where it does not know the key. `what` names the object in errors ("a device"). Returns the
// object's place, for errors about what it lacks.
template <class Read>
std::size_t read_json_object(JsonReader& reader, std::string_view what, const Read& read) {
  reader.begin_object();
  const std::size_t position = reader.position();
  std::vector<std::string> seen;
  while (const auto key = reader.next_key()) {
    const std::string name(*key);
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      reader.fail("key '" + name + "' stands twice in " + std::string(what));
    }
    if (!read(name)) reader.fail("unknown key '" + name + "' in " + std::string(what));
    seen.push_back(name);
  }
  return position;
}

// A hash as hash_to_string() writes it.
inline std::uint64_t read_json_hash(JsonReader& reader) {
  const std::string text = reader.string();
  std::uint64_t hash = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, hash, 16);
  if (text.size() != 16 || parsed.ec != std::errc{} || parsed.ptr != end) {
    reader.fail("expected a hash of 16 hexadecimal digits");
  }
  return hash;
}

// The keys "format" and "version" that every file of ours carries.
class JsonFormatKeys {
 public:
  JsonFormatKeys(std::string_view format, std::uint64_t newest_version)
      : format_(format), newest_(newest_version) {}

  // True where the key was one of the two, whose value is read and checked.
  bool read(JsonReader& reader, std::string_view key) {
    if (key == "format") {
      const std::string found = reader.string();
      if (found != format_) {
        reader.fail("the format is '" + found + "', expected '" + std::string(format_) + "'");
      }
      has_format_ = true;
      return true;
    }
    if (key != "version") return false;
    const std::uint64_t version = reader.unsigned_integer(UINT32_MAX);
    if (version == 0) reader.fail("there is no version 0 of " + std::string(format_));
    if (version > newest_) {
      reader.fail("version " + std::to_string(version) + " of " + std::string(format_) +
                  " is not known here (the newest is " + std::to_string(newest_) +
                  "): use a newer doppler");
    }
    has_version_ = true;
    return true;
  }

  // Call at the end of the object: both keys must have been there.
  void require(const JsonReader& reader) const {
    if (!has_format_) reader.fail_at(0, "not a " + std::string(format_) + " file: no key 'format'");
    if (!has_version_) reader.fail_at(0, "no key 'version'");
  }

 private:
  std::string_view format_;
  std::uint64_t newest_;
  bool has_format_ = false;
  bool has_version_ = false;
};

}  // namespace doppler
