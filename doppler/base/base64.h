// Bytes as text (RFC 4648, with padding).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace doppler {

std::string to_base64(std::span<const std::byte> bytes);
// Nothing where the text is not what to_base64() writes.
std::optional<std::vector<std::byte>> from_base64(std::string_view text);

}  // namespace doppler
