// The instances of DAGBench, which are those of SAGA, a task graph and a network.
// docs/formats/import.md says what is read, assumed and ignored.
#pragma once

#include <string>
#include <string_view>

#include "doppler/import/content.h"
#include "doppler/import/imported.h"

namespace doppler::import {

bool is_dagbench(const Content& content);
Imported read_dagbench(const std::string& file, std::string_view text, const ImportOptions& = {});

}  // namespace doppler::import
