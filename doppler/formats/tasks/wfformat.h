// Workflows in WfFormat, versions 1.0 to 1.6 (wfcommons.org).
// docs/formats/import.md says what is read, assumed and ignored.
#pragma once

#include <string>
#include <string_view>

#include "doppler/formats/content.h"
#include "doppler/formats/imported.h"

namespace doppler::formats {

bool is_wfformat(const Content& content);
Imported read_wfformat(const std::string& file, std::string_view text, const ImportOptions& = {});

}  // namespace doppler::formats
