// The models that can be trained, by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/policy/dual/network.h"
#include "doppler/policy/features/node_features.h"
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

// A trained policy: which model, the shape of its network, its parameters, and what it was trained
// on.

// Smallest and largest of something over the problems of a training.
struct Range {
  double low = 0.0, high = 0.0;
  void include(double value);
  bool contains(double value, double margin) const;
};

// What a problem is like, in numbers that tell whether a policy has seen the like of it.
struct Domain {
  Range log_nodes, log_devices, traffic, parallelism, device_spread;
  bool empty = true;

  void include(const NodeFeatures& nodes);
  // In words, what of the problem lies far outside; empty where nothing does.
  std::string stranger(const NodeFeatures& nodes) const;
};

struct Policy {
  Architecture architecture = Architecture::kDual;
  NetworkShape shape;
  Priorities priorities = Priorities::kOrder;  // of its placements
  std::vector<float> parameters;
  Domain domain;
  std::string origin = {};  // how it came about, for people
};

// Text of a doppler.policy file (docs/formats/policy.md).
std::string write_policy_json(const Policy& policy);
// Throws InputError for a file that is damaged, newer, or made for other features than ours.
Policy read_policy_json(const std::string& file, std::string_view text);

}  // namespace doppler::policy
