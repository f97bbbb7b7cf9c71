// Breaks long sentences into lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace doppler::render {

// Devices that a text lists. Large machines repeat themselves: a glance at the first few says it
// all.
inline constexpr std::size_t kDevicesShown = 16;

// `text` after `label`, broken at spaces so that no line passes `width`; further lines are indented
// as far as the label is long. Words longer than a line stay whole. Ends with a newline. Widths
// count bytes: texts are ASCII.
std::string wrap(std::string_view label, std::string_view text, std::size_t width = 100);

}  // namespace doppler::render
