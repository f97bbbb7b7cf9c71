// Numbers in checkpoints: the bytes of a vector, as base64.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "doppler/base/base64.h"
#include "doppler/base/json_reader.h"

namespace doppler::train {

template <class T>
std::string packed(const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  return to_base64(std::as_bytes(std::span<const T>(values)));
}

template <class T>
std::vector<T> read_packed(JsonReader& reader) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = from_base64(reader.string());
  if (!bytes || bytes->size() % sizeof(T) != 0) reader.fail("damaged numbers");
  std::vector<T> values(bytes->size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

}  // namespace doppler::train
