// How a training went, from the folder that `dopp train` left, for the report.
#pragma once

#include <string>

#include "doppler/report/page.h"

namespace doppler::study {

// Of a folder of one training, or of several seeds. Throws InputError where there is none, or where
// its files are damaged, with the line.
report::PageTraining read_training_curves(const std::string& folder);

}  // namespace doppler::study
