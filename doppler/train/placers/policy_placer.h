// Placing with a trained policy: the best of many samples, after some training on the problem
// itself where that is asked for.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "doppler/place/placer.h"
#include "doppler/policy/policy.h"

namespace doppler::train {

struct PolicyPlacerSettings {
  std::size_t samples = 64;       // the first of every policy greedy
  double finetune_seconds = 0.0;  // of training before that
};

// One or several, which share samples and time: where one training went astray another seldom did.
using Policies = std::vector<std::shared_ptr<const policy::Policy>>;
// Gives them when they are first needed; called from any thread.
using PolicySource = std::function<Policies()>;

// "policy". Its warning says what of the problem the policies have not seen the like of. Thread
// safe.
std::unique_ptr<place::Placer> make_policy_placer(PolicySource policies,
                                                  PolicyPlacerSettings settings = {});

}  // namespace doppler::train
