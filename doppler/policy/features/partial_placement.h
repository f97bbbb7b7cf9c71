// A placement while it is built, node after node, and what a policy sees of the choice of a device:
// how soon the node could run there, what is near, what is loaded.
//
// Times are estimates of a list scheduler: nodes run in the order in which they are placed, and
// transfers take their uncontended time, but for those that a feature sees behind other traffic.
// They are features, not results.
//
// Not thread safe; one object serves one placement after another without allocating.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/policy/features/node_features.h"
#include "doppler/policy/features/traffic.h"

namespace doppler::policy {

inline constexpr std::size_t kChoiceFeatures = 16;
// Positions of those that are used by themselves.
inline constexpr std::size_t kEndsLater = 1, kSiblingsNear = 9;
std::string_view choice_feature_name(std::size_t feature);

// Features of a choice, by their positions.
using FeatureSet = std::bitset<kChoiceFeatures>;
// Throws ParameterError for a name that no feature has.
FeatureSet feature_set(std::span<const std::string> names);

class PartialPlacement {
 public:
  // `nodes` must outlive this object. `without`: features that are always zero, to find out what
  // they are worth.
  explicit PartialPlacement(const NodeFeatures& nodes, FeatureSet without = {});

  std::size_t device_count() const { return devices_; }

  // Nothing is placed.
  void begin();
  // Nodes that became candidates, all their producers being placed, since begin() or the last
  // place().
  std::span<const std::uint32_t> new_candidates() const { return new_candidates_; }

  // Looks at a candidate: features of every device, one row after the other, and which devices may
  // take it. At least one may: where memory would run out on all, the one with the most room.
  void look(NodeId node);
  std::span<const float> features() const { return features_; }
  std::span<const std::uint8_t> may_take() const { return may_take_; }
  // When the node could start, by device.
  std::span<const float> starts() const { return start_; }

  // REQUIRES: look(node) was the last to be looked at.
  void place(NodeId node, DeviceId device);

 private:
  // Tensors that were sent to a device are near for all that read them.
  void bring_near(std::span<const TensorId> tensors, DeviceId device);
  // The memory that a placement in this order takes if nodes ran one after the other. Inputs and
  // parameters are there all the time, also before the node that needed them was placed.
  void look_at_memory(NodeId node);
  void place_in_memory(NodeId node, DeviceId device);

  const NodeFeatures& nodes_;
  const cost::Problem& problem_;
  const std::size_t devices_;
  const FeatureSet without_;
  // Times in units of NodeFeatures::time_unit().
  std::vector<float> compute_;          // by node and column of the problem's table
  std::vector<float> edge_weight_;      // by edge: mean transfer time
  std::vector<float> weight_in_;        // by node: sum over what it waits for
  std::vector<std::uint32_t> meta_of_;  // by node; kNoMeta: none
  std::vector<float> meta_share_;       // by meta-op: devices / nodes
  std::vector<float> nearness_;         // by device: how slow its links are against the others'
  std::vector<float> first_arrival_, first_pull_,
      first_moved_;  // as below, before anything is placed
  std::vector<std::uint32_t> first_missing_;
  float per_load_ = 1.0f;  // 1 over the fair share of a device

  std::vector<float> arrival_;  // by node and device: when what is placed could be there
  std::vector<float> pull_;     // by node and device: weight of its inputs that lie there
  std::vector<float> free_;     // by device: when its last node ends
  std::vector<float> load_;
  std::optional<Traffic> traffic_;  // where transfers share channels; else the next two
  std::vector<float> moved_;        // by node and device: transfers that its inputs would need
  std::vector<float> links_free_;   // by device: when all transfers to it end, one after the other
  std::vector<float> meta_count_;   // by meta-op and device
  std::vector<std::uint32_t> missing_;  // by node: edges from producers that are not placed
  std::vector<DeviceId> unit_device_;   // by unit; invalid: not placed
  std::vector<std::uint32_t> new_candidates_;
  std::size_t placed_ = 0;
  std::vector<float> features_;
  std::vector<std::uint8_t> may_take_;
  std::vector<float> start_, end_, behind_, affinity_, logs_;  // scratch of look(), by device

  // Only where memory can bind.
  std::vector<double> lasting_bytes_;                       // by device: inputs and parameters
  std::vector<double> passing_bytes_, most_passing_bytes_;  // by device: values, now and at most
  std::vector<double> needed_lasting_, needed_passing_;     // by device, for the node looked at
  std::vector<double> room_share_;                          // by device
  std::vector<std::uint32_t> readers_left_;                 // by tensor
  std::vector<std::uint8_t> has_copy_;                      // by tensor and device
};

}  // namespace doppler::policy
