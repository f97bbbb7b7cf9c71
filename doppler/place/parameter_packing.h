// Where parameters fit: memory that is tight by parameters alone is a question of packing, which
// moves and swaps of single units seldom answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/cost/problem.h"

namespace doppler::place {

// An allowed device for every unit that reads parameters (invalid for the others), such that each
// device holds what its units read, by a bounded search: the largest first, each where the least
// room is left. What several units read counts for each of them, and results not at all. Nothing
// where no packing was found.
std::optional<std::vector<DeviceId>> pack_parameters(const cost::Problem& problem);

// What proves that no placement can hold the parameters, in words: the fewest units found whose own
// parameters cannot be dealt out to the devices in any way. Empty where that is not proved within
// the bounds of the search.
std::string packing_conflict(const cost::Problem& problem);

}  // namespace doppler::place
