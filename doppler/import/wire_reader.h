// Reads the wire format of Protocol Buffers: fields one after another, each with a number and a
// kind. Every error says at which byte. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace doppler::import {

class WireReader {
 public:
  enum class Kind : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  struct Field {
    std::uint32_t number;
    Kind kind;
    std::uint64_t value;     // of the numbers
    std::string_view bytes;  // of kBytes
  };

  // `base` is where `bytes` begins in the file. All must outlive the reader.
  WireReader(const std::string& file, std::string_view bytes, std::size_t base = 0)
      : file_(file), bytes_(bytes), base_(base) {}

  bool at_end() const { return at_ == bytes_.size(); }
  // Where the next byte is in the file.
  std::size_t position() const { return base_ + at_; }

  std::uint64_t varint();
  // The next field, or nothing at the end.
  std::optional<Field> next();
  // A length and that many bytes.
  std::string_view delimited();

  [[noreturn]] void fail(const std::string& message) const;

 private:
  std::uint64_t fixed(std::size_t size);

  const std::string& file_;
  std::string_view bytes_;
  std::size_t base_;
  std::size_t at_ = 0;
};

// Throws InputError "file: byte N: message".
[[noreturn]] void fail_at_byte(const std::string& file, std::size_t at, const std::string& message);

// The values of a repeated integer: packed into bytes, or one by one.
void for_each_varint(const std::string& file, const WireReader::Field& field, std::size_t at,
                     const std::function<void(std::uint64_t)>& visit);

}  // namespace doppler::import
