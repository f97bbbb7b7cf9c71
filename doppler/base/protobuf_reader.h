// ProtobufReader, which reads the wire format of protocol buffers without a schema: the caller
// knows the numbers of the fields that it wants and passes over the others. Strings and messages
// are views of the bytes that were given. Every error is an InputError with the file and the byte
// offset. Not thread safe.
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
  // The encoding of a field, with the numbers that the wire format has for it.
  enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  // `file` names the source in errors. Both arguments must outlive the reader and the readers of
  // its messages.
  ProtobufReader(const std::string& file, std::string_view bytes) : file_(&file), bytes_(bytes) {}

  // Moves to the next field. Returns false at the end. Each field must be read or skipped once.
  bool next();
  std::uint32_t field() const { return field_; }
  Wire wire() const { return wire_; }
  // Returns the offset in the whole file at which the field's tag starts.
  std::size_t field_offset() const { return base_ + field_at_; }
  // Returns the offset in the whole file of the next byte to be read.
  std::size_t offset() const { return base_ + at_; }

  // The functions below read the field. They throw InputError if it has another encoding than the
  // one they expect, or is cut off.

  // Returns the bits of a number in any encoding. Passes over a field that is not a number and
  // returns 0.
  std::uint64_t number();
  std::uint64_t unsigned_integer();
  std::int64_t integer() { return static_cast<std::int64_t>(unsigned_integer()); }
  float float32();
  std::string_view string();
  // Returns a reader of the message that the field holds. Throws InputError if messages are nested
  // deeper than kMaxDepth.
  ProtobufReader message();
  // Returns a reader of the next message of a stream, in which messages follow each other without
  // tags, each behind its length. To be called instead of next().
  ProtobufReader delimited();
  bool at_end() const { return at_ == bytes_.size(); }
  void skip();

  // Append the numbers of a repeated field, whether packed or one by one. Throw InputError if the
  // list would grow beyond `limit`.
  void append_integers(std::vector<std::int64_t>& values, std::size_t limit);
  void append_floats(std::vector<double>& values, std::size_t limit);
  void append_doubles(std::vector<double>& values, std::size_t limit);

  // Throws InputError for the current offset.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  std::uint64_t varint();
  std::string_view take(std::size_t count);
  void require(Wire wire);
  ProtobufReader inside(std::string_view body) const;

  const std::string* file_;
  std::string_view bytes_;
  std::size_t base_ = 0;  // the offset of bytes_ in the file
  std::size_t at_ = 0;
  std::size_t field_at_ = 0;
  std::uint32_t field_ = 0;
  Wire wire_ = Wire::kVarint;
  int depth_ = 0;
};

// Throws InputError "file: byte N: message".
[[noreturn]] void fail_at_byte(const std::string& file, std::size_t at, const std::string& message);

}  // namespace doppler
