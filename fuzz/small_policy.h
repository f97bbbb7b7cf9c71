// A policy with the smallest network.
#pragma once

#include "doppler/policy/policy.h"

namespace fuzzing {

inline doppler::policy::Policy small_policy() {
  doppler::policy::Policy policy{.shape = {.width = 1, .rounds = 1}};
  policy.parameters.assign(
      doppler::policy::make_model(policy.architecture, policy.shape)->parameters().size(), 0.1f);
  return policy;
}

}  // namespace fuzzing
