// Reads protocol buffers on the wire, without their schema: a caller knows the numbers of the
// fields that it wants and passes over the others. Strings and messages view the bytes that were
// given. Every error is an InputError with the file and the byte. Not thread safe.
//
//   while (reader.next()) {
//     switch (reader.field()) {
//       case 1: name = reader.string(); break;
//       default: reader.skip();
//     }
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace doppler {

class ProtobufReader {
 public:
  static constexpr int kMaxDepth = 64;
  // How a field is written, with the numbers that stand in the file.
  enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  // Both must outlive the reader and those of its messages.
  ProtobufReader(const std::string& file, std::string_view bytes) : file_(&file), bytes_(bytes) {}

  // Moves to the next field; false at the end. Each field must be read or skipped, once.
  bool next();
  std::uint32_t field() const { return field_; }
  Wire wire() const { return wire_; }
  // Where the field's tag starts, in the whole file.
  std::size_t field_offset() const { return base_ + field_at_; }
  // How many bytes were read so far, of the whole file.
  std::size_t offset() const { return base_ + at_; }

  // The bits of a number, whichever way it is written; 0 of what is none, which is passed over.
  std::uint64_t number();
  std::uint64_t unsigned_integer();
  std::int64_t integer() { return static_cast<std::int64_t>(unsigned_integer()); }
  float float32();
  std::string_view string();
  ProtobufReader message();
  // The next of the messages of a stream, each behind its length, instead of a field.
  ProtobufReader delimited();
  bool at_end() const { return at_ == bytes_.size(); }
  void skip();

  // Repeated numbers, packed or one by one: appends what the field holds. At most `limit` in all.
  void append_integers(std::vector<std::int64_t>& values, std::size_t limit);
  void append_floats(std::vector<double>& values, std::size_t limit);
  void append_doubles(std::vector<double>& values, std::size_t limit);

  [[noreturn]] void fail(const std::string& message) const;

 private:
  std::uint64_t varint();
  std::string_view take(std::size_t count);
  void require(Wire wire);
  ProtobufReader inside(std::string_view body) const;

  const std::string* file_;
  std::string_view bytes_;
  std::size_t base_ = 0;  // where the bytes start in the file
  std::size_t at_ = 0;
  std::size_t field_at_ = 0;
  std::uint32_t field_ = 0;
  Wire wire_ = Wire::kVarint;
  int depth_ = 0;
};

// Throws InputError "file: byte N: message".
[[noreturn]] void fail_at_byte(const std::string& file, std::size_t at, const std::string& message);

}  // namespace doppler
