#include "doppler/policy/features/choice_features.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "doppler/base/error.h"

namespace doppler::policy {
namespace {

struct NamedChoiceFeature {
  ChoiceFeature feature;
  std::string_view name;
};

constexpr std::array<NamedChoiceFeature, kChoiceFeatures> kNamedChoiceFeatures = {{
    {ChoiceFeature::kStartsLater, "start"},
    {ChoiceFeature::kEndsLater, "end"},
    {ChoiceFeature::kEndsFirst, "ends first"},
    {ChoiceFeature::kFreeLater, "free"},
    {ChoiceFeature::kArrivesLater, "arrival"},
    {ChoiceFeature::kIdleBefore, "idle before"},
    {ChoiceFeature::kLoad, "load"},
    {ChoiceFeature::kMovesMore, "moved"},
    {ChoiceFeature::kInputsNear, "inputs near"},
    {ChoiceFeature::kSiblingsNear, "siblings near"},
    {ChoiceFeature::kComputesSlower, "compute"},
    {ChoiceFeature::kSameMetaOp, "same meta-op"},
    {ChoiceFeature::kRoom, "room"},
    {ChoiceFeature::kLinkSlowness, "links"},
    {ChoiceFeature::kProgress, "progress"},
    {ChoiceFeature::kStartsBehindTraffic, "start behind traffic"},
}};

constexpr bool in_order_of_positions() {
  for (std::size_t f = 0; f < kChoiceFeatures; ++f) {
    if (kNamedChoiceFeatures[f].feature != static_cast<ChoiceFeature>(f)) return false;
  }
  return true;
}
static_assert(in_order_of_positions());

}  // namespace

std::string_view choice_feature_name(std::size_t position) {
  return kNamedChoiceFeatures[position].name;
}

FeatureSet feature_set(std::span<const std::string> names) {
  std::array<std::string_view, kChoiceFeatures> known;
  std::transform(kNamedChoiceFeatures.begin(), kNamedChoiceFeatures.end(), known.begin(),
                 [](const NamedChoiceFeature& named) { return named.name; });
  FeatureSet set;
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) {
      throw ParameterError(
          fmt::format("there is no feature '{}'; there are: {}", name, fmt::join(known, ", ")));
    }
    set.set(static_cast<std::size_t>(found - known.begin()));
  }
  return set;
}

}  // namespace doppler::policy
