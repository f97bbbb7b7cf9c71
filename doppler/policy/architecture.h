// The models that can be trained, by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "doppler/policy/dual/network.h"
#include "doppler/policy/model.h"

namespace doppler::policy {

// What each is: docs/learning.md.
enum class Architecture : std::uint8_t {
  kDual,
  kSelOnly,
  kPlcOnly,
  kJoint,
  kStepwise,
  kPlaceto,
  kGdp
};

std::vector<std::string_view> architecture_names();
std::string_view architecture_name(Architecture architecture);
// Throws ParameterError that lists the known names.
Architecture architecture_named(std::string_view name);
// Whether a model is for one number of devices, that of its shape.
bool needs_device_count(Architecture architecture);

// REQUIRES: the shape has a number of devices where the architecture needs one.
std::unique_ptr<Model> make_model(Architecture architecture, NetworkShape shape);

}  // namespace doppler::policy
