// Device specifications: the short text with which a user says which devices there are (SPEC in the
// command's help), the file that makes `cpu:N` mean this machine as it was measured, and topology
// files.
//
//   4xP100, 8xV100, 8xH100      one box of a device of the catalogue (catalogue.h)
//   4xA100-40GB                 with a memory size; without one the larger is meant
//   4xRTX3090-NVLink            with bridges between cards 0 and 1, 2 and 3, …, where those are
//                               sold apart
//   2n8xA100                    2 nodes of 8, joined by the network that they usually have
//   2n8xA100@100Gb              the same with one network card of 100 Gbit/s a node, whose
//                               bandwidth transfers get in full; @8x200Gb: eight cards of
//                               200 Gbit/s a node
//   2xA100+2xT4                 several boxes in one host, or nodes in one network
//   2xRTX4090+1xCPU             the host as a device; among nodes, a node of its own
//   uniform:4                   4 identical devices, all times from the graph
//   cpu:4                       4 CPU cores of this machine, with measured figures if it was probed
//   machine.json                a topology file (docs/formats/topology.md)
//
// The functions read files and environment variables and keep no state, so that they are safe to
// call from several threads as long as none changes the environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/device/topology.h"

namespace doppler::device {

// Returns the topology that a spec means. Upper and lower case are the same in names of kinds, but
// not in @100Gb, so that bytes are not taken for bits.
// Throws ParameterError with the closest alternatives if the spec is none of the above, and
// InputError if a topology file or the probe file is damaged.
Topology topology_from_spec(const std::string& spec);

// Returns the N of `cpu:N`, or nothing if the spec is something else.
std::optional<std::uint64_t> cpu_count(const std::string& spec);

struct PresetExample {
  std::string spec;
  std::string description;
};
// Returns an example of every form of spec except files, for people to look through.
std::vector<PresetExample> preset_examples();

// --- the probe file ---
//
// `dopp devices probe` leaves its measurements of this machine in a topology file, one for each
// user, from which `cpu:N` takes its figures.

// Returns the processor's model and the number of cores, as in "AMD EPYC 7763, 64 cores". The
// description in a probe file begins with it.
std::string this_machine();

// Returns $DOPPLER_PROBE, else doppler/cpu.json in $XDG_CACHE_HOME or in $HOME/.cache; nothing if
// none of these variables is set.
std::optional<std::string> probe_file_path();

// Reads the probe file; returns nothing if there is none. Throws InputError, naming the file and
// the remedy, if it cannot be read or was measured on another machine.
std::optional<TopologySpec> read_probe_file();

// --- topology files ---
//
// Reading and writing of topologies as JSON (docs/formats/topology.md), in topology_json.cc. A
// topology that is written and read back is the same.

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
