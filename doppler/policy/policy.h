// A trained policy: the kind and shape of its model, the problems that it knows, and the file that
// holds it. docs/learning.md describes the models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/policy/episode.h"
#include "doppler/policy/features/choice_features.h"
#include "doppler/policy/model.h"

namespace doppler::policy {

// The models that can be trained.
enum class Architecture : std::uint8_t {
  kDual,      // SEL picks nodes, PLC devices
  kSelOnly,   // SEL beside the critical path's rule for devices
  kPlcOnly,   // PLC beside the critical path's rule for nodes
  kJoint,     // one policy picks node and device together
  kStepwise,  // as kDual, with messages passed anew at every step
  kPlaceto,   // in the manner of Placeto
  kGdp,       // in the manner of GDP
  kPublished  // the two policies with the network of the paper
};

// Returns the names of all architectures, in the order of the enumerators.
std::vector<std::string_view> architecture_names();
std::string_view architecture_name(Architecture architecture);
// Throws ParameterError that lists the known names.
Architecture architecture_named(std::string_view name);
// Returns whether a model of this kind is for one number of devices only, that of its shape.
bool needs_device_count(Architecture architecture);

// Selects what SEL and PLC prefer before they have learnt anything. The preference is added to the
// scores of the networks, and training can unlearn it.
enum class Prior : std::uint8_t {
  kNone,
  kList,  // a soft list scheduler that keeps siblings together
};
std::string_view prior_name(Prior prior);
// Throws ParameterError that lists the known names.
Prior prior_named(std::string_view name);

// The largest width of a network.
inline constexpr std::size_t kWidest = 1024;

struct NetworkShape {
  std::size_t width = 32;  // numbers in an embedding, up to kWidest
  std::size_t rounds = 3;  // of message passing; 0: none
  // The number of devices, for models with one output for each; 0 for models that serve any number.
  std::size_t devices = 0;
  FeatureSet without = {};     // features of choices that are always zero
  Prior prior = Prior::kList;  // of SEL and PLC; placeto and gdp have none

  friend bool operator==(const NetworkShape&, const NetworkShape&) = default;
};
// Throws ParameterError if the problem has another number of devices than the shape. `model` is the
// name for the message.
void require_device_count(std::string_view model, const NetworkShape& shape,
                          const NodeFeatures& nodes);

// Returns a model without values of its parameters. REQUIRES: shape.devices is positive exactly if
// the architecture needs a number of devices.
std::unique_ptr<Model> make_model(Architecture architecture, NetworkShape shape);

// The smallest and the largest value of something over the problems of a training.
struct Range {
  double low = 0.0, high = 0.0;
  void include(double value);
  // Returns whether the value is in the range or beyond it by at most `margin`.
  bool contains(double value, double margin) const;
};

// The problems on which a policy was trained, in a few numbers that tell whether it has seen the
// like of another one.
struct Domain {
  // `latency` is that of transfers, as a share of their time. Policies that do not say it were
  // trained where transfers take the time of their bytes.
  Range log_nodes, log_devices, traffic, parallelism, device_spread, latency;
  bool empty = true;

  // Widens the ranges to contain a problem.
  void include(const NodeFeatures& nodes);
  // Returns, in words and separated by commas, the traits of a problem that lie far outside of the
  // ranges. Returns an empty string if there are none or the domain is empty.
  std::string unfamiliar_traits(const NodeFeatures& nodes) const;
};

struct Policy {
  Architecture architecture = Architecture::kDual;
  NetworkShape shape;
  Priorities priorities = Priorities::kOrder;  // of its placements
  std::vector<float> parameters;
  Domain domain;
  std::string origin = {};  // how it came about, for people
};

// Returns the text of a doppler.policy file (docs/formats/policy.md).
// Parameters beyond this length are refused. Those of trained policies stay below a thousandth of
// it; larger ones make sums of features overflow.
inline constexpr float kLargestParameter = 1e6f;
// Returns whether all are finite and none is longer than kLargestParameter.
bool are_sound(std::span<const float> parameters);

std::string write_policy_json(const Policy& policy);
// Reads such a text; `file` names it in errors. Throws InputError if it is damaged, of a newer
// version, or made for other features than ours.
Policy read_policy_json(const std::string& file, std::string_view text);

}  // namespace doppler::policy
