// Placement methods that use learned policies: those that ship or a given one, and baselines that
// are trained on the problem itself.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "doppler/place/registry.h"
#include "doppler/policy/policy.h"

namespace doppler::train {

struct PolicyPlacerSettings {
  std::size_t samples = 64;       // in all; the first of every policy takes the likeliest choices
  double finetune_seconds = 0.0;  // of training on the problem before sampling
};

// One or several policies, which share samples and time. Several are safer than one: where one
// training went astray, another seldom did.
using Policies = std::vector<std::shared_ptr<const policy::Policy>>;
// Returns the policies when they are first needed. Must be thread safe.
using PolicySource = std::function<Policies()>;

// Returns the method "policy": the best of many samples. Its warning says in what the problem is
// unlike those that the policies were trained on. Thread safe.
std::unique_ptr<place::Placer> make_policy_placer(PolicySource policies,
                                                  PolicyPlacerSettings settings = {});

// Returns all policies that are part of the library, for placing. They were trained by
// tools/train_policy.py with different seeds.
std::vector<std::shared_ptr<const policy::Policy>> shipped_policies();
// Returns the one of these that trainings start from.
std::shared_ptr<const policy::Policy> shipped_policy();

// Returns the learned baselines "placeto" and "gdp" as placement methods. Each trains its model
// from nothing on the problem, within the budget of the request, and returns the best placement
// that it has seen on the way. It looks at `request.stop` between updates, which are 16 episodes
// each. Thread safe.
std::vector<std::shared_ptr<const place::Placer>> make_scratch_placers();

}  // namespace doppler::train
