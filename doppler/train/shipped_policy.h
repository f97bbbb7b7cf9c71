// The policy that is part of the library, trained by tools/train_policy.py.
#pragma once

#include <memory>

#include "doppler/policy/policy.h"

namespace doppler::train {

std::shared_ptr<const policy::Policy> shipped_policy();

}  // namespace doppler::train
