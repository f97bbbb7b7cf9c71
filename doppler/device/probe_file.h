// Where `dopp devices probe` leaves what it measured, so that `cpu:N` means this machine: a
// topology file of its own, one for each user.
#pragma once

#include <optional>
#include <string>

#include "doppler/device/topology.h"

namespace doppler::device {

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
