// Names and positions of the features by which a policy compares devices for one node.
//
// Trained parameters belong to positions, and policy files hold a hash of the names. So neither may
// change unless policies are trained again.
#pragma once

#include <bitset>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace doppler::policy {

// Lists the features that a policy sees of a choice (node, device). All times are in units of
// NodeFeatures::time_unit(). "Later", "more" and "slower" compare the device with the best device
// that may take the node, and enter as log(1 + difference).
enum class ChoiceFeature : std::size_t {
  kStartsLater,          // how much later the node could start
  kEndsLater,            // how much later the node could end
  kEndsFirst,            // 1 if no other device lets the node end earlier, else 0
  kFreeLater,            // how much later the device has run all of its nodes
  kArrivesLater,         // how much later the inputs could be there, over idle links
  kIdleBefore,           // log(1 + how long the device would wait for the inputs)
  kLoad,                 // compute time placed on the device, over its fair share of the graph
  kMovesMore,            // how much more transfer time the inputs would need
  kInputsNear,           // share of the node's input traffic that is already on the device
  kSiblingsNear,         // the same share for the other inputs of the node's consumers
  kComputesSlower,       // log(compute time over that of the fastest device)
  kSameMetaOp,           // nodes of the same meta-op on the device, over their fair share
  kRoom,                 // share of the device's memory that would be left; 1 if memory cannot bind
  kLinkSlowness,         // log(seconds per byte to the device, over the mean of all devices)
  kProgress,             // share of the graph that is placed
  kStartsBehindTraffic,  // as kStartsLater, but with inputs that wait for other transfers
};
inline constexpr std::size_t kChoiceFeatures = 16;

// Returns the name of the feature at a position, as in policy files and on the command line.
// REQUIRES: position < kChoiceFeatures.
std::string_view choice_feature_name(std::size_t position);

// A set of features of a choice, by their positions.
using FeatureSet = std::bitset<kChoiceFeatures>;
// Returns the features with these names. Throws ParameterError for a name that no feature has.
FeatureSet feature_set(std::span<const std::string> names);

// A view of the kChoiceFeatures numbers of one choice that is indexed by feature. It does not own
// them.
template <class T>
class ChoiceRow {
 public:
  explicit ChoiceRow(T* first) : first_(first) {}
  T& operator[](ChoiceFeature feature) const { return first_[static_cast<std::size_t>(feature)]; }

 private:
  T* first_;
};

}  // namespace doppler::policy
