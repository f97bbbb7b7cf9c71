// The models that can be trained, by name. docs/learning.md describes each.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "doppler/policy/dual/network.h"
#include "doppler/policy/model.h"

namespace doppler::policy {

enum class Architecture : std::uint8_t {
  kDual,      // SEL picks nodes, PLC devices
  kSelOnly,   // SEL beside the critical path's rule for devices
  kPlcOnly,   // PLC beside the critical path's rule for nodes
  kJoint,     // one policy picks node and device together
  kStepwise,  // as kDual, with messages passed anew at every step
  kPlaceto,   // in the manner of Placeto
  kGdp        // in the manner of GDP
};

// Returns the names of all, in the order of the enumerators.
std::vector<std::string_view> architecture_names();
std::string_view architecture_name(Architecture architecture);
// Throws ParameterError that lists the known names.
Architecture architecture_named(std::string_view name);
// Returns whether a model of this kind is for one number of devices only, that of its shape.
bool needs_device_count(Architecture architecture);

// Returns a model without values of its parameters. REQUIRES: shape.devices is positive exactly if
// the architecture needs a number of devices.
std::unique_ptr<Model> make_model(Architecture architecture, NetworkShape shape);

}  // namespace doppler::policy
