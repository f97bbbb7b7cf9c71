// How a training went, from the folder that `dopp train` left, for the report.
#pragma once

#include <string>
#include <vector>

#include "doppler/render/page/page.h"

namespace doppler::render {

// Of a folder of one training, or of several seeds, and of the service in it: one or both. Throws
// InputError where there is none, or where its files are damaged, with the line.
std::vector<render::PageTraining> read_training_curves(const std::string& folder);

}  // namespace doppler::render
