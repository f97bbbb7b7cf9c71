// Placing with a trained policy: the best of many samples, after some training on the problem
// itself where that is asked for.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "doppler/place/placer.h"
#include "doppler/policy/policy.h"

namespace doppler::train {

struct PolicyPlacerSettings {
  std::size_t samples = 64;       // the first of them greedy
  double finetune_seconds = 0.0;  // of training before that
};

// Gives the policy when it is first needed; called from any thread.
using PolicySource = std::function<std::shared_ptr<const policy::Policy>()>;

// "policy". Its note says what of the problem the policy has not seen the like of. Thread safe.
std::unique_ptr<place::Placer> make_policy_placer(PolicySource policy,
                                                  PolicyPlacerSettings settings = {});

}  // namespace doppler::train
