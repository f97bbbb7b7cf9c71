// Numbers in checkpoints: the bytes of a vector, as base64.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "doppler/base/json_reader.h"
#include "doppler/base/text.h"
#include "doppler/train/offline/training.h"

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

// A training's state as a file (docs/formats/policy.md).

std::string write_checkpoint_json(const TrainingState& state);
// Throws InputError for a file that is damaged or newer.
TrainingState read_checkpoint_json(const std::string& file, std::string_view text);

}  // namespace doppler::train
