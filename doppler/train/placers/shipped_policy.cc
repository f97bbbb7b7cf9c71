#include "doppler/train/placers/shipped_policy.h"

#include <string_view>

namespace doppler::train {
namespace {

#include "doppler/train/shipped_policies.inc"

std::shared_ptr<const policy::Policy> read(std::string_view text) {
  return std::make_shared<const policy::Policy>(
      policy::read_policy_json("a policy that ships with doppler", text));
}

}  // namespace

std::vector<std::shared_ptr<const policy::Policy>> shipped_policies() {
  std::vector<std::shared_ptr<const policy::Policy>> policies;
  for (const char* text : kShippedPolicies) policies.push_back(read(text));
  return policies;
}

std::shared_ptr<const policy::Policy> shipped_policy() {
  return read(kShippedPolicies[0]);
}

}  // namespace doppler::train
