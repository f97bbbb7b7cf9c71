// Topologies as JSON (docs/formats/topology.md). What is written reads back to the same topology.
#pragma once

#include <string>
#include <string_view>

#include "doppler/device/topology.h"

namespace doppler::device {

// `file` names the source in errors. All throw InputError with the place.
Topology read_topology_json(const std::string& file, std::string_view text);

// In two steps, for callers that change the spec in between. The second adds the file's name to
// what the topology's own checks say.
TopologySpec read_topology_spec(const std::string& file, std::string_view text);
Topology make_topology(const std::string& file, TopologySpec spec);

// Throws ParameterError where two kinds, groups or channels share a name, since the file refers to
// them by name.
std::string write_topology_json(const Topology& topology);

}  // namespace doppler::device
