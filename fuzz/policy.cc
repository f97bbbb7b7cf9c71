// Fuzzes policy files of all models: what is read is written again as it was, and places a graph,
// unless it is for another number of devices.
#include <memory>

#include "doppler/base/error.h"
#include "doppler/policy/features/node_features.h"
#include "doppler/train/placers/policy_placer.h"
#include "small_policy.h"
#include "small_problem.h"
#include "state_file.h"
#include "target.h"

using namespace doppler;

std::string sound_file(std::uint32_t number) {
  const auto models = policy::architecture_names();
  policy::Policy policy =
      fuzzing::small_policy(policy::architecture_named(models[number % models.size()]));
  policy.domain.include(policy::NodeFeatures(*fuzzing::small_problem()));
  policy.origin = "fuzz";
  return policy::write_policy_json(policy);
}

void fuzz(std::string_view bytes) {
  const auto policy =
      std::make_shared<const policy::Policy>(policy::read_policy_json("fuzz", bytes));
  const std::string text = policy::write_policy_json(*policy);
  if (policy::write_policy_json(policy::read_policy_json("again", text)) != text) {
    __builtin_trap();
  }
  const auto placer =
      train::make_policy_placer([&] { return train::Policies{policy}; }, {.samples = 2});
  try {
    placer->place(*fuzzing::small_problem(), {});
  } catch (const ParameterError&) {
  }
}
