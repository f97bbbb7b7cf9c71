// Packs parameters into the devices' memory. Where parameters alone make memory tight, moves and
// swaps of single units seldom find a placement that fits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/cost/problem.h"

namespace doppler::place {

// Returns an allowed device for every unit that reads parameters (an invalid id for the others)
// such that each device has room for the parameters that its units read. A bounded search places
// the largest unit first, each where the least room is left. A parameter that several units read
// counts for each of them; results do not count. Returns nothing where no packing was found.
std::optional<std::vector<DeviceId>> pack_parameters(const cost::Problem& problem);

// Says in words why no placement can hold the parameters: it names the fewest units found whose own
// parameters cannot be dealt out to the devices in any way. Empty where the bounded search does not
// prove that.
std::string packing_conflict(const cost::Problem& problem);

}  // namespace doppler::place
