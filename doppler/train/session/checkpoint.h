// The state of a training as a file (docs/formats/policy.md), and vectors of numbers as JSON
// strings: the bytes of the vector in base64, so that every bit is kept.
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

// The seconds between two checkpoints of a session: a kill loses no more work than that.
inline constexpr double kCheckpointSeconds = 5.0;

// Returns the bytes of `values` in base64.
template <class T>
std::string packed(const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  return to_base64(std::as_bytes(std::span<const T>(values)));
}

// Reads a string that packed() wrote. Throws InputError, with its place, if it is damaged.
template <class T>
std::vector<T> read_packed(JsonReader& reader) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = from_base64(reader.string());
  if (!bytes || bytes->size() % sizeof(T) != 0) reader.fail("damaged numbers");
  std::vector<T> values(bytes->size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

// Returns the state as a checkpoint file, with a checksum.
std::string write_checkpoint_json(const TrainingState& state);
// Reads a checkpoint; `file` names it in errors. Throws InputError for one that is damaged or was
// written by a newer version.
TrainingState read_checkpoint_json(const std::string& file, std::string_view text);

}  // namespace doppler::train
