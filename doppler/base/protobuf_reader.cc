#include "doppler/base/protobuf_reader.h"

#include <fmt/format.h>

#include <cstring>

#include "doppler/base/error.h"

namespace doppler {

void fail_at_byte(const std::string& file, std::size_t at, const std::string& message) {
  throw InputError(fmt::format("{}: byte {}: {}", file, at, message));
}

void ProtobufReader::fail(const std::string& message) const {
  fail_at_byte(*file_, offset(), message);
}

bool ProtobufReader::next() {
  if (at_ >= bytes_.size()) return false;
  field_at_ = at_;
  const std::uint64_t tag = varint();
  const std::uint64_t number = tag >> 3;
  if (number == 0 || number > 0x1fffffff) fail("not a field of a protocol buffer");
  field_ = static_cast<std::uint32_t>(number);
  switch (tag & 7) {
    case 0:
      wire_ = Wire::kVarint;
      return true;
    case 1:
      wire_ = Wire::kFixed64;
      return true;
    case 2:
      wire_ = Wire::kBytes;
      return true;
    case 5:
      wire_ = Wire::kFixed32;
      return true;
    default:
      fail("a field of an unknown wire type");
  }
}

std::uint64_t ProtobufReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at_ >= bytes_.size()) fail("the data ends inside a number");
    const auto byte = static_cast<unsigned char>(bytes_[at_++]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail("a number of more than 64 bits");
}

std::string_view ProtobufReader::take(std::size_t count) {
  if (count > bytes_.size() - at_) {
    fail(fmt::format("a field of {} bytes, but only {} are left", count, bytes_.size() - at_));
  }
  const std::string_view taken = bytes_.substr(at_, count);
  at_ += count;
  return taken;
}

void ProtobufReader::require(Wire wire) {
  if (wire_ != wire) fail(fmt::format("field {} is not of the expected type", field_));
}

std::uint64_t ProtobufReader::number() {
  if (wire_ == Wire::kVarint) return varint();
  if (wire_ == Wire::kBytes) return skip(), 0;
  const std::string_view bytes = take(wire_ == Wire::kFixed64 ? 8 : 4);
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

std::uint64_t ProtobufReader::unsigned_integer() {
  require(Wire::kVarint);
  return varint();
}

float ProtobufReader::float32() {
  require(Wire::kFixed32);
  float value;
  std::memcpy(&value, take(4).data(), 4);
  return value;
}

std::string_view ProtobufReader::string() {
  require(Wire::kBytes);
  return take(varint());
}

ProtobufReader ProtobufReader::message() {
  return inside(string());
}

ProtobufReader ProtobufReader::delimited() {
  return inside(take(varint()));
}

ProtobufReader ProtobufReader::inside(std::string_view body) const {
  if (depth_ >= kMaxDepth) fail(fmt::format("messages nested deeper than {}", kMaxDepth));
  ProtobufReader inner(*file_, body);
  inner.base_ = offset() - body.size();
  inner.depth_ = depth_ + 1;
  return inner;
}

void ProtobufReader::skip() {
  switch (wire_) {
    case Wire::kVarint:
      varint();
      return;
    case Wire::kFixed64:
      take(8);
      return;
    case Wire::kBytes:
      take(varint());
      return;
    case Wire::kFixed32:
      take(4);
      return;
  }
}

void ProtobufReader::append_integers(std::vector<std::int64_t>& values, std::size_t limit) {
  if (wire_ == Wire::kVarint) {
    values.push_back(integer());
  } else {
    require(Wire::kBytes);
    const std::uint64_t size = varint();
    if (size > bytes_.size() - at_) fail("a list that is longer than the data");
    const std::size_t end = at_ + size;
    while (at_ < end && values.size() <= limit) {
      values.push_back(static_cast<std::int64_t>(varint()));
    }
    if (at_ > end) fail("a list that ends inside a number");
    at_ = end;
  }
  if (values.size() > limit) fail(fmt::format("a list of more than {} numbers", limit));
}

void ProtobufReader::append_floats(std::vector<double>& values, std::size_t limit) {
  if (wire_ == Wire::kFixed32) {
    values.push_back(static_cast<double>(float32()));
  } else {
    const std::string_view packed = string();
    for (std::size_t i = 0; i + 4 <= packed.size() && values.size() <= limit; i += 4) {
      float value;
      std::memcpy(&value, packed.data() + i, 4);
      values.push_back(static_cast<double>(value));
    }
  }
  if (values.size() > limit) fail(fmt::format("a list of more than {} numbers", limit));
}

void ProtobufReader::append_doubles(std::vector<double>& values, std::size_t limit) {
  const auto append = [&](const char* at) {
    double value;
    std::memcpy(&value, at, 8);
    values.push_back(value);
  };
  if (wire_ == Wire::kFixed64) {
    append(take(8).data());
  } else {
    const std::string_view packed = string();
    for (std::size_t i = 0; i + 8 <= packed.size() && values.size() <= limit; i += 8) {
      append(packed.data() + i);
    }
  }
  if (values.size() > limit) fail(fmt::format("a list of more than {} numbers", limit));
}

}  // namespace doppler
