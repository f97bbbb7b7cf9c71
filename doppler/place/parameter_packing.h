// Where parameters fit: memory that is tight by parameters alone is a question of packing, which
// moves and swaps of single units seldom answer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/cost/problem.h"

namespace doppler::place {

// An allowed device for every unit that reads parameters (invalid for the others), such that each
// device holds what its units read, by a bounded search: the largest first, each where the least
// room is left. What several units read counts for each of them, and results not at all. Nothing
// where no packing was found.
std::optional<std::vector<DeviceId>> pack_parameters(const cost::Problem& problem);

}  // namespace doppler::place
