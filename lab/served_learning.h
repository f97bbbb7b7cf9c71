// Stage III as the experiments ask for it: the careful learner of `dopp train --stages real`
// (train/online/online_learner.h) in service on an emulated machine with a virtual clock.
#pragma once

#include "lab/online_learning.h"

namespace doppler::lab {

// Thread safe, and the same bits for a seed.
OnlineLearning served_learning();

}  // namespace doppler::lab
