// What models have in common that have one output for each device, and so are for one number of
// devices, and that choose no order: nodes come in that of a list scheduler by b-levels.
#pragma once

#include <string_view>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/policy/dual/network.h"
#include "doppler/policy/features/node_features.h"

namespace doppler::policy {

// Throws ParameterError where the problem has another number of devices than the shape.
void require_device_count(std::string_view model, const NetworkShape& shape,
                          const NodeFeatures& nodes);

// A topological order; candidates with larger b-levels in mean costs come first.
std::vector<NodeId> list_order(const NodeFeatures& nodes);

}  // namespace doppler::policy
