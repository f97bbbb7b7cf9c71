// A training's state as a file (docs/formats/policy.md).
#pragma once

#include <string>
#include <string_view>

#include "doppler/train/offline/training.h"

namespace doppler::train {

std::string write_checkpoint_json(const TrainingState& state);
// Throws InputError for a file that is damaged or newer.
TrainingState read_checkpoint_json(const std::string& file, std::string_view text);

}  // namespace doppler::train
