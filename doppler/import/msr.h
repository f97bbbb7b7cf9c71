// The instances of Microsoft's DNN partitioning benchmark (github msr-fiddle/dnn-partitioning).
// docs/formats/import.md says what is read, assumed and ignored.
#pragma once

#include <string>
#include <string_view>

#include "doppler/import/content.h"
#include "doppler/import/imported.h"

namespace doppler::import {

bool is_msr(const Content& content);
Imported read_msr(const std::string& file, std::string_view text, const ImportOptions& = {});

}  // namespace doppler::import
