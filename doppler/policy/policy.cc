#include "doppler/policy/policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "doppler/base/error.h"
#include "doppler/base/hash.h"
#include "doppler/base/json_reader.h"
#include "doppler/base/json_writer.h"
#include "doppler/base/text.h"
#include "doppler/policy/baselines/gdp.h"
#include "doppler/policy/baselines/joint.h"
#include "doppler/policy/baselines/placeto.h"
#include "doppler/policy/baselines/stepwise.h"
#include "doppler/policy/dual/dual_model.h"

namespace doppler::policy {
namespace {

struct ArchitectureEntry {
  Architecture architecture;
  std::string_view name;
  bool needs_device_count;
  std::unique_ptr<Model> (*make)(NetworkShape shape);
};

template <class M>
std::unique_ptr<Model> make(NetworkShape shape) {
  return std::make_unique<M>(shape);
}

// In the order of the enumerators.
constexpr ArchitectureEntry kArchitectures[] = {
    {Architecture::kDual, "dual", false, make<DualModel>},
    {Architecture::kSelOnly, "sel-only", false,
     [](NetworkShape shape) -> std::unique_ptr<Model> {
       return std::make_unique<DualModel>(
           shape, DualDesign{.device_choice = DecisionMaker::kCriticalPath});
     }},
    {Architecture::kPlcOnly, "plc-only", false,
     [](NetworkShape shape) -> std::unique_ptr<Model> {
       return std::make_unique<DualModel>(shape,
                                          DualDesign{.node_choice = DecisionMaker::kCriticalPath});
     }},
    {Architecture::kJoint, "joint", false, make<JointModel>},
    {Architecture::kStepwise, "stepwise", false, make<StepwiseModel>},
    {Architecture::kPlaceto, "placeto", true, make<PlacetoModel>},
    {Architecture::kGdp, "gdp", true, make<GdpModel>},
    {Architecture::kPublished, "published", false, make<PublishedModel>},
};

const ArchitectureEntry& entry_of(Architecture architecture) {
  const ArchitectureEntry& entry = kArchitectures[static_cast<std::size_t>(architecture)];
  DOPPLER_CHECK(entry.architecture == architecture);
  return entry;
}

constexpr std::string_view kFormat = "doppler.policy";
constexpr std::uint64_t kVersion = 1;
// To be raised if features keep their names but are computed in another way.
constexpr std::uint64_t kFeatureRevision = 3;
constexpr std::size_t kMostRounds = 64;
constexpr std::size_t kMostDevices = 65'536;

struct NamedRange {
  std::string_view name;
  std::string_view trait;
  Range Domain::*range;
  double margin;  // how far beyond the range a value still counts as seen
};
constexpr NamedRange kRanges[] = {
    // Ten times as many nodes are no trouble, as bench/quality/policy.py shows.
    {"log_nodes", "number of nodes", &Domain::log_nodes, 2.5},
    {"log_devices", "number of devices", &Domain::log_devices, 0.7},
    {"traffic", "share of traffic", &Domain::traffic, 0.5},
    {"parallelism", "parallelism", &Domain::parallelism, 0.7},
    {"device_spread", "spread of device speeds", &Domain::device_spread, 0.7},
    {"latency", "latencies", &Domain::latency, 0.3},
};

// Returns the value of a problem that belongs to one of the ranges.
double value_of(const NodeFeatures& nodes, Range Domain::*range) {
  const cost::Problem& problem = nodes.problem();
  if (range == &Domain::log_nodes) return std::log(static_cast<double>(nodes.node_count()));
  if (range == &Domain::log_devices) return std::log(static_cast<double>(problem.device_count()));
  if (range == &Domain::traffic) return nodes.values()(0, column_of(NodeFeature::kGraphTraffic));
  if (range == &Domain::parallelism) return nodes.values()(0, column_of(NodeFeature::kParallelism));
  if (range == &Domain::latency) return nodes.latency_share();
  DOPPLER_CHECK(range == &Domain::device_spread);
  double spread = 0.0;
  for (std::size_t v = 0; v < nodes.node_count(); ++v) {
    spread =
        std::max(spread, static_cast<double>(nodes.values()(
                             static_cast<Eigen::Index>(v), column_of(NodeFeature::kDeviceSpread))));
  }
  return spread;
}

// Returns a hash that changes with the features of the network, because parameters for other
// features mean nothing.
std::uint64_t feature_hash() {
  Hasher hasher;
  for (std::size_t f = 0; f < kNodeFeatures; ++f) hasher.add_bytes(node_feature_name(f));
  for (std::size_t f = 0; f < kChoiceFeatures; ++f) hasher.add_bytes(choice_feature_name(f));
  hasher.add(kFeatureRevision);
  return hasher.value();
}

}  // namespace

std::vector<std::string_view> architecture_names() {
  std::vector<std::string_view> names;
  for (const ArchitectureEntry& entry : kArchitectures) names.push_back(entry.name);
  return names;
}

std::string_view architecture_name(Architecture architecture) {
  return entry_of(architecture).name;
}

Architecture architecture_named(std::string_view name) {
  for (const ArchitectureEntry& entry : kArchitectures) {
    if (entry.name == name) return entry.architecture;
  }
  throw ParameterError(
      fmt::format("unknown model '{}'; there are {}", name, fmt::join(architecture_names(), ", ")));
}

bool needs_device_count(Architecture architecture) {
  return entry_of(architecture).needs_device_count;
}

std::string_view prior_name(Prior prior) {
  return prior == Prior::kList ? "list" : "none";
}

Prior prior_named(std::string_view name) {
  for (const Prior prior : {Prior::kNone, Prior::kList}) {
    if (prior_name(prior) == name) return prior;
  }
  throw ParameterError(fmt::format("unknown prior '{}'; there are list and none", name));
}

void require_device_count(std::string_view model, const NetworkShape& shape,
                          const NodeFeatures& nodes) {
  const std::size_t devices = nodes.problem().device_count();
  if (devices == shape.devices) return;
  throw ParameterError(
      fmt::format("a policy of model {} is for one number of devices: this one for {}, not for {}",
                  model, shape.devices, devices));
}

std::unique_ptr<Model> make_model(Architecture architecture, NetworkShape shape) {
  const ArchitectureEntry& entry = entry_of(architecture);
  DOPPLER_CHECK(entry.needs_device_count == (shape.devices > 0));
  return entry.make(shape);
}

void Range::include(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
}
bool Range::contains(double value, double margin) const {
  return value >= low - margin && value <= high + margin;
}

void Domain::include(const NodeFeatures& nodes) {
  for (const NamedRange& named : kRanges) {
    const double value = value_of(nodes, named.range);
    if (empty) this->*named.range = {value, value};
    (this->*named.range).include(value);
  }
  empty = false;
}

std::string Domain::unfamiliar_traits(const NodeFeatures& nodes) const {
  std::string words;
  if (empty || nodes.node_count() == 0) return words;
  for (const NamedRange& named : kRanges) {
    if ((this->*named.range).contains(value_of(nodes, named.range), named.margin)) continue;
    words += (words.empty() ? "" : ", ") + std::string(named.trait);
  }
  return words;
}

bool are_sound(std::span<const float> parameters) {
  return std::all_of(parameters.begin(), parameters.end(),
                     [](float value) { return std::abs(value) <= kLargestParameter; });
}

std::string write_policy_json(const Policy& policy) {
  JsonWriter json;
  json.begin_object().field("format", kFormat).field("version", kVersion);
  json.field("origin", policy.origin);
  json.field("features", hash_to_string(feature_hash()));
  json.field("model", architecture_name(policy.architecture));
  json.field("priorities", priorities_name(policy.priorities));
  json.key("network").begin_object(JsonLayout::kCompact);
  json.field("width", policy.shape.width).field("rounds", policy.shape.rounds);
  json.field("prior", prior_name(policy.shape.prior));
  if (policy.shape.without.any()) {
    json.key("without").begin_array();
    for (std::size_t f = 0; f < kChoiceFeatures; ++f) {
      if (policy.shape.without[f]) json.value(choice_feature_name(f));
    }
    json.end_array();
  }
  if (policy.shape.devices > 0) json.field("devices", policy.shape.devices);
  json.end_object();
  if (!policy.domain.empty) {
    json.key("trained_on").begin_object();
    for (const NamedRange& named : kRanges) {
      const Range& range = policy.domain.*named.range;
      json.key(named.name).begin_array(JsonLayout::kCompact);
      json.value(range.low).value(range.high).end_array();
    }
    json.end_object();
  }
  // Little-endian, as every machine that this is built for has them.
  static_assert(std::endian::native == std::endian::little);
  json.field("parameters", to_base64(std::as_bytes(std::span<const float>(policy.parameters))));
  return json.checksum_field().end_object().take();
}

Policy read_policy_json(const std::string& file, std::string_view text) {
  JsonReader reader(file, text);
  JsonFormatKeys format(kFormat, kVersion);
  Policy policy;
  policy.shape = {.width = 0, .rounds = 0};
  std::string parameters;
  bool has_features = false, has_checksum = false;
  // Reads a name and finds what it means; an unknown name is an error of the file.
  const auto look_up = [&](const auto& find) {
    try {
      return find(reader.string());
    } catch (const ParameterError& error) {
      reader.fail(error.what());
    }
  };
  read_json_object(reader, "the policy", [&](const std::string& key) {
    if (format.read(reader, key)) return true;
    if (key == "origin") return policy.origin = reader.string(), true;
    if (key == "model") return policy.architecture = look_up(architecture_named), true;
    if (key == "priorities") return policy.priorities = look_up(priorities_named), true;
    if (key == "features") {
      if (reader.string() != hash_to_string(feature_hash())) {
        reader.fail(
            "the policy was trained with features that this doppler does not have: train "
            "it again");
      }
      has_features = true;
      return true;
    }
    if (key == "network") {
      read_json_object(reader, "the network", [&](const std::string& size) {
        if (size == "width") return policy.shape.width = reader.unsigned_integer(kWidest), true;
        if (size == "without") {
          std::vector<std::string> names;
          reader.begin_array();
          while (reader.next_element()) names.push_back(reader.string());
          try {
            policy.shape.without = feature_set(names);
          } catch (const ParameterError& error) {
            reader.fail(error.what());
          }
          return true;
        }
        if (size == "prior") return policy.shape.prior = look_up(prior_named), true;
        if (size == "rounds")
          return policy.shape.rounds = reader.unsigned_integer(kMostRounds), true;
        if (size == "devices")
          return policy.shape.devices = reader.unsigned_integer(kMostDevices), true;
        return false;
      });
      return true;
    }
    if (key == "trained_on") {
      read_json_object(reader, "the ranges", [&](const std::string& name) {
        for (const NamedRange& named : kRanges) {
          if (named.name != name) continue;
          std::vector<double> ends;
          reader.begin_array();
          while (reader.next_element()) ends.push_back(reader.number());
          if (ends.size() != 2) reader.fail("a range has two ends");
          policy.domain.*named.range = {ends[0], ends[1]};
          return true;
        }
        return false;
      });
      policy.domain.empty = false;
      return true;
    }
    if (key == "parameters") return parameters = reader.string(), true;
    if (key == "checksum") return reader.read_checksum(), has_checksum = true;
    return false;
  });
  reader.finish();
  format.require(reader);
  if (!has_checksum) reader.fail_at(0, "the checksum of the policy is missing");
  if (!has_features) reader.fail_at(0, "the features of the policy are missing");
  if (policy.shape.width == 0) reader.fail_at(0, "the width of the network is missing");
  if (needs_device_count(policy.architecture) != (policy.shape.devices > 0)) {
    reader.fail_at(
        0, fmt::format("a policy of model {} is for {}", architecture_name(policy.architecture),
                       policy.shape.devices > 0 ? "any number of devices"
                                                : "one number of devices: which?"));
  }
  const std::size_t count = make_model(policy.architecture, policy.shape)->parameters().size();
  const auto bytes = from_base64(parameters);
  if (!bytes || bytes->size() != count * sizeof(float)) {
    reader.fail_at(0, fmt::format("the parameters are damaged: expected {} numbers", count));
  }
  policy.parameters.resize(count);
  std::memcpy(policy.parameters.data(), bytes->data(), bytes->size());
  if (!are_sound(policy.parameters)) {
    reader.fail_at(0, fmt::format("a parameter is beyond {:g}, where trained ones never are",
                                  kLargestParameter));
  }
  return policy;
}

}  // namespace doppler::policy
