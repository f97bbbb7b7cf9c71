#include "doppler/formats/model_defaults.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace doppler::formats {

std::optional<std::int64_t> default_dimension(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto has = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
  if (has("past") && !has("+") && !has("total")) return 0;
  if (has("seq") || has("length") || has("time") || has("token") || has("frames")) {
    return kDefaultSequence;
  }
  if (has("height") || has("width")) return kDefaultImageSide;
  if (has("batch")) return 1;
  return std::nullopt;
}

}  // namespace doppler::formats
