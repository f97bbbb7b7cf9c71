// Machines, and what was measured of them, as text and JSON.
#pragma once

#include <span>
#include <string>

#include "doppler/device/spec.h"
#include "doppler/device/topology.h"
#include "doppler/exec/probe/probe.h"

namespace doppler::render {

// Returns the kinds, devices and links of a machine.
std::string topology_text(const device::Topology& topology);

// Return the devices that are known, by maker and year; docs/command.md names the keys. Peaks are
// in Tflop/s.
std::string catalogue_text();
std::string catalogue_json(std::span<const device::PresetExample> presets);

// Return the measurements of this machine; `file` is where its topology was written.
// docs/command.md names the keys.
std::string probe_text(const exec::ProbeResult& result, const std::string& file);
std::string probe_json(const exec::ProbeResult& result, const std::string& file);

}  // namespace doppler::render
