// How a training went, from the folder that `dopp train` left, for the report.
#pragma once

#include <string>
#include <vector>

#include "doppler/report/page.h"

namespace doppler::study {

// Of a folder of one training, or of several seeds, and of the service in it: one or both. Throws
// InputError where there is none, or where its files are damaged, with the line.
std::vector<report::PageTraining> read_training_curves(const std::string& folder);

}  // namespace doppler::study
