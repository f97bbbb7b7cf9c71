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

// The policies that are part of the library, trained by tools/train_policy.py with different seeds.

// To place with all of them.
std::vector<std::shared_ptr<const policy::Policy>> shipped_policies();
// The one to train further.
std::shared_ptr<const policy::Policy> shipped_policy();

// Learned baselines as placement methods: each trains its model from nothing on the problem itself,
// within the budget of the request, and gives the best placement it has seen on the way.

// "placeto" and "gdp". Thread safe. `request.stop` is looked at between updates, each of 16
// episodes.
std::vector<std::shared_ptr<const place::Placer>> make_scratch_placers();

}  // namespace doppler::train
