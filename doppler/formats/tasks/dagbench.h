// The instances of DAGBench, which are those of SAGA, a task graph and a network.
// docs/formats/import.md says what is read, assumed and ignored.
#pragma once

#include <string>
#include <string_view>

#include "doppler/formats/content.h"
#include "doppler/formats/imported.h"

namespace doppler::formats {

bool is_dagbench(const Content& content);
Imported read_dagbench(const std::string& file, std::string_view text, const ImportOptions& = {});

}  // namespace doppler::formats
