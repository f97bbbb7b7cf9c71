// The instances of Microsoft's DNN partitioning benchmark (github msr-fiddle/dnn-partitioning).
// docs/formats/import.md says what is read, assumed and ignored.
#pragma once

#include <string>
#include <string_view>

#include "doppler/formats/content.h"
#include "doppler/formats/imported.h"

namespace doppler::formats {

bool is_msr(const Content& content);
Imported read_msr(const std::string& file, std::string_view text, const ImportOptions& = {});

}  // namespace doppler::formats
