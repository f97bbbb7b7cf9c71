// The profiles of PipeDream, a line per layer, a line per edge.
// docs/formats/import.md says what is read, assumed and ignored.
#pragma once

#include <string>
#include <string_view>

#include "doppler/formats/content.h"
#include "doppler/formats/imported.h"

namespace doppler::formats {

bool is_pipedream(const Content& content);
Imported read_pipedream(const std::string& file, std::string_view text, const ImportOptions& = {});

}  // namespace doppler::formats
