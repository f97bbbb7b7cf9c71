// A topology as `devices show` prints it.
#pragma once

#include <string>

#include "doppler/device/topology.h"
#include "doppler/exec/probe/probe.h"

namespace doppler::render {

std::string topology_text(const device::Topology& topology);

// What `devices probe` prints of its measurements.

// For people; `file` is where the topology was written.
std::string probe_text(const exec::ProbeResult& result, const std::string& file);
// One JSON object.
std::string probe_json(const exec::ProbeResult& result, const std::string& file);

}  // namespace doppler::render
