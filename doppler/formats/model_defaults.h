// What readers of models assume where the file and the user leave something open. The values are
// stated in docs/formats/models.md; every use is told in a note.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace doppler::formats {

inline constexpr std::int64_t kDefaultSequence = 128;  // tokens
inline constexpr std::int64_t kDefaultImageSide = 224;
inline constexpr std::int64_t kDefaultSamples = 16'000;  // a second of speech

// The size of a dimension that is only named: 128 for sequences, 224 for the sides of images, 0 for
// what was cached before, 1 for a batch. Nothing where the name says none of these.
std::optional<std::int64_t> default_dimension(std::string_view name);

}  // namespace doppler::formats
