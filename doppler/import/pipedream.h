// The profiles of PipeDream, a line per layer, a line per edge.
// docs/formats/import.md says what is read, assumed and ignored.
#pragma once

#include <string>
#include <string_view>

#include "doppler/import/content.h"
#include "doppler/import/imported.h"

namespace doppler::import {

bool is_pipedream(const Content& content);
Imported read_pipedream(const std::string& file, std::string_view text, const ImportOptions& = {});

}  // namespace doppler::import
