// The policies that are part of the library, trained by tools/train_policy.py with different seeds.
#pragma once

#include <memory>
#include <vector>

#include "doppler/policy/policy.h"

namespace doppler::train {

// To place with all of them.
std::vector<std::shared_ptr<const policy::Policy>> shipped_policies();
// The one to train further.
std::shared_ptr<const policy::Policy> shipped_policy();

}  // namespace doppler::train
