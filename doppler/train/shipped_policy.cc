#include "doppler/train/shipped_policy.h"

#include <string_view>

namespace doppler::train {
namespace {

#include "doppler/train/shipped_policy.inc"

}  // namespace

std::shared_ptr<const policy::Policy> shipped_policy() {
  return std::make_shared<const policy::Policy>(
      policy::read_policy_json("the policy that ships with doppler",
                               std::string_view(kShippedPolicy, sizeof(kShippedPolicy) - 1)));
}

}  // namespace doppler::train
