// Machines, and what was measured of them, as text and JSON.
#pragma once

#include <string>

#include "doppler/device/topology.h"
#include "doppler/exec/probe/probe.h"

namespace doppler::render {

// Returns the kinds, devices and links of a machine.
std::string topology_text(const device::Topology& topology);

// Return the measurements of this machine; `file` is where its topology was written.
// docs/command.md names the keys.
std::string probe_text(const exec::ProbeResult& result, const std::string& file);
std::string probe_json(const exec::ProbeResult& result, const std::string& file);

}  // namespace doppler::render
