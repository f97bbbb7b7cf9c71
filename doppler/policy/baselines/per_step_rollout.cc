#include "doppler/policy/baselines/per_step_rollout.h"

#include <fmt/format.h>

#include "doppler/base/error.h"
#include "doppler/policy/model.h"

namespace doppler::policy {

void require_device_count(std::string_view model, const NetworkShape& shape,
                          const NodeFeatures& nodes) {
  const std::size_t devices = nodes.problem().device_count();
  if (devices == shape.devices) return;
  throw ParameterError(
      fmt::format("a policy of model {} is for one number of devices: this one for {}, not for {}",
                  model, shape.devices, devices));
}

std::vector<NodeId> list_order(const NodeFeatures& nodes) {
  return to_episode(nodes.problem(), {.device = {}, .priority = nodes.b_levels()}).order;
}

}  // namespace doppler::policy
