#include "doppler/import/wire_reader.h"

#include <fmt/format.h>

#include "doppler/base/error.h"

namespace doppler::import {

void fail_at_byte(const std::string& file, std::size_t at, const std::string& message) {
  throw InputError(fmt::format("{}: byte {}: {}", file, at, message));
}

void WireReader::fail(const std::string& message) const {
  fail_at_byte(file_, position(), message);
}

std::uint64_t WireReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at_end()) fail("the file ends inside a number");
    const auto byte = static_cast<unsigned char>(bytes_[at_++]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  fail("a number of more than 10 bytes");
}

std::string_view WireReader::delimited() {
  const std::uint64_t size = varint();
  if (size > bytes_.size() - at_) fail(fmt::format("{} bytes are announced and not there", size));
  const std::string_view content = bytes_.substr(at_, size);
  at_ += size;
  return content;
}

std::uint64_t WireReader::fixed(std::size_t size) {
  if (bytes_.size() - at_ < size) fail("the file ends inside a number");
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[at_ + i])) << (8 * i);
  }
  at_ += size;
  return value;
}

std::optional<WireReader::Field> WireReader::next() {
  if (at_end()) return std::nullopt;
  const std::uint64_t tag = varint();
  if (tag >> 3 == 0 || tag >> 32 != 0) fail("not a field of a protocol buffer");
  Field field{.number = static_cast<std::uint32_t>(tag >> 3),
              .kind = static_cast<Kind>(tag & 7),
              .value = 0,
              .bytes = {}};
  switch (field.kind) {
    case Kind::kVarint:
      field.value = varint();
      return field;
    case Kind::kFixed64:
      field.value = fixed(8);
      return field;
    case Kind::kFixed32:
      field.value = fixed(4);
      return field;
    case Kind::kBytes:
      field.bytes = delimited();
      return field;
  }
  fail("not a field of a protocol buffer");
}

void for_each_varint(const std::string& file, const WireReader::Field& field, std::size_t at,
                     const std::function<void(std::uint64_t)>& visit) {
  if (field.kind == WireReader::Kind::kVarint) {
    visit(field.value);
    return;
  }
  WireReader packed(file, field.bytes, at - field.bytes.size());
  while (!packed.at_end()) visit(packed.varint());
}

}  // namespace doppler::import
