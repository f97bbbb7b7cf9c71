// Reading and writing of topologies as JSON (docs/formats/topology.md). A topology that is written
// and read back is the same. The functions may be called from several threads.
#pragma once

#include <string>
#include <string_view>

#include "doppler/device/topology.h"

namespace doppler::device {

// Reads a topology. `file` names the source in errors. Throws InputError with the position if the
// text is damaged, or with the file's name if the topology is inconsistent.
Topology read_topology_json(const std::string& file, std::string_view text);

// Do the same in two steps, for callers that change the spec in between: the first reads, the
// second checks and puts the file's name in front of what is wrong.
TopologySpec read_topology_spec(const std::string& file, std::string_view text);
Topology make_topology(const std::string& file, TopologySpec spec);

// Returns the topology as text. Throws ParameterError if two kinds, groups or channels share a name
// or one has none, since the file refers to them by name.
std::string write_topology_json(const Topology& topology);

}  // namespace doppler::device
