// Policies with the smallest networks, for two devices where a model is for one number of them.
#pragma once

#include "doppler/policy/policy.h"

namespace fuzzing {

inline doppler::policy::Policy small_policy(
    doppler::policy::Architecture architecture = doppler::policy::Architecture::kDual) {
  using namespace doppler::policy;
  Policy policy{
      .architecture = architecture,
      .shape = {.width = 1, .rounds = 1, .devices = needs_device_count(architecture) ? 2u : 0u}};
  policy.parameters.assign(make_model(architecture, policy.shape)->parameters().size(), 0.1f);
  return policy;
}

}  // namespace fuzzing
