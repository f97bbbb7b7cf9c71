// Reads a JSON object whose keys are known: hands them out as indices, in any order, and refuses
// unknown and repeated keys with their position, so that a typing error is never silently ignored.
//
//   constexpr std::string_view kKeys[] = {"name", "bytes"};
//   JsonFields fields(reader, kKeys);
//   while (const auto key = fields.next()) {
//     switch (*key) { case 0: … read the value …; }
//   }
//   fields.require(0);
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "doppler/base/json_reader.h"

namespace doppler {

class JsonFields {
 public:
  // Opens the object that comes next. REQUIRES: at most 64 keys; both outlive this.
  JsonFields(JsonReader& reader, std::span<const std::string_view> keys);

  // The index of the next key, whose value must then be read; nothing at the object's end.
  std::optional<std::size_t> next();

  bool has(std::size_t key) const { return (seen_ >> key & 1) != 0; }
  // Fails at the object's start unless the key was there. For use after the end.
  void require(std::size_t key) const;
  // Where the object starts, for JsonReader::fail_at.
  std::size_t position() const { return position_; }

 private:
  [[noreturn]] void fail_unknown(std::string_view key) const;

  JsonReader& reader_;
  std::span<const std::string_view> keys_;
  std::uint64_t seen_ = 0;
  std::size_t position_;
};

}  // namespace doppler
