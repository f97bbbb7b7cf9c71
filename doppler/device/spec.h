// Devices as a user writes them (SPEC in the command's help):
//   4xP100, 8xV100, 8xH100      one box; also A100, T4, A10, L4
//   4xA100-40GB                 with a memory size; without one the larger is meant
//   2n8xA100                    2 nodes of 8, joined by a network
//   2xA100+2xT4                 several boxes in one host, or nodes in one network
//   uniform:4                   4 identical devices, all times from the graph
//   cpu:4                       4 CPU cores of this machine, as measured if they were
//   machine.json                a topology file (docs/formats/topology.md)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doppler/device/topology.h"

namespace doppler::device {

// Throws ParameterError where the spec is none of the above, with the closest that are, and
// InputError where the file is bad. Names of kinds are matched without regard to case.
Topology topology_from_spec(const std::string& spec);

// The N of `cpu:N`; nothing where the spec is something else.
std::optional<std::uint64_t> cpu_count(const std::string& spec);

struct PresetExample {
  std::string spec;
  std::string description;
};
// One of every sort, for people to look through.
std::vector<PresetExample> preset_examples();

// Where `dopp devices probe` leaves what it measured, so that `cpu:N` means this machine: a
// topology file of its own, one for each user.

// The processor's model and the number of cores, as in "AMD EPYC 7763, 64 cores". Descriptions of
// probe files begin with it.
std::string this_machine();

// $DOPPLER_PROBE, else doppler/cpu.json in $XDG_CACHE_HOME or $HOME/.cache. Nothing where none of
// these is set.
std::optional<std::string> probe_file_path();

// Nothing where there is no such file. Throws InputError, naming the file and what to do about it,
// where it cannot be read or does not tell of this machine.
std::optional<TopologySpec> read_probe_file();

}  // namespace doppler::device
