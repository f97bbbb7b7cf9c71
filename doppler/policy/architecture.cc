#include "doppler/policy/architecture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "doppler/base/error.h"
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
};

const ArchitectureEntry& entry_of(Architecture architecture) {
  const ArchitectureEntry& entry = kArchitectures[static_cast<std::size_t>(architecture)];
  DOPPLER_CHECK(entry.architecture == architecture);
  return entry;
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

std::unique_ptr<Model> make_model(Architecture architecture, NetworkShape shape) {
  const ArchitectureEntry& entry = entry_of(architecture);
  DOPPLER_CHECK(entry.needs_device_count == (shape.devices > 0));
  return entry.make(shape);
}

}  // namespace doppler::policy
