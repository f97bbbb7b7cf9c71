// Traces of the PyTorch profiler (Kineto), which are Chrome traces.
// docs/formats/import.md says what is read, assumed and ignored.
#pragma once

#include <string>
#include <string_view>

#include "doppler/formats/content.h"
#include "doppler/formats/imported.h"

namespace doppler::formats {

bool is_kineto(const Content& content);
Imported read_kineto(const std::string& file, std::string_view text, const ImportOptions& = {});

}  // namespace doppler::formats
