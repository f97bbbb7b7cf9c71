// What `devices probe` prints of its measurements.
#pragma once

#include <string>

#include "doppler/exec/probe.h"

namespace doppler::render {

// For people; `file` is where the topology was written.
std::string probe_text(const exec::ProbeResult& result, const std::string& file);
// One JSON object.
std::string probe_json(const exec::ProbeResult& result, const std::string& file);

}  // namespace doppler::render
