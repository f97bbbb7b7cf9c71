// A placement while it is built, node after node, and the features by which a policy chooses a
// device for the next node.
//
// Times are estimates of a list scheduler, in units of NodeFeatures::time_unit(): nodes run in the
// order in which they are placed. They serve as features only; results come from a simulator.
//
// Not thread safe; one object serves one placement after another without allocating.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "doppler/policy/features/arrival_estimate.h"
#include "doppler/policy/features/candidates.h"
#include "doppler/policy/features/choice_features.h"
#include "doppler/policy/features/locality.h"
#include "doppler/policy/features/memory_estimate.h"
#include "doppler/policy/features/node_features.h"

namespace doppler::policy {

class PartialPlacement {
 public:
  // `nodes` must outlive this object. Features in `without` are always zero, which shows what they
  // are worth.
  explicit PartialPlacement(const NodeFeatures& nodes, FeatureSet without = {});

  std::size_t device_count() const { return devices_; }

  // Forgets all placed nodes. Call it before anything else.
  void begin();
  // Returns the nodes that became candidates, because their last producer was placed, since begin()
  // or the last place(). Valid until the next call of either.
  std::span<const std::uint32_t> new_candidates() const { return candidates_.added(); }

  // Computes what the three functions below return, for one candidate. They stay valid until the
  // next evaluate().
  void evaluate(NodeId node);
  // Returns kChoiceFeatures numbers for every device, one device after the other. They are zero for
  // a device that may not take the node.
  std::span<const float> features() const { return features_; }
  // Returns, by device, whether it may take the node: 1 or 0. At least one may: if memory would run
  // out on all of them, it is the one with the most room.
  std::span<const std::uint8_t> may_take() const { return may_take_; }
  // Returns, by device, when the node could start there.
  std::span<const float> starts() const { return start_; }

  // Puts the node on the device. REQUIRES: evaluate() was last called for this node.
  void place(NodeId node, DeviceId device);

 private:
  static constexpr float kNever = std::numeric_limits<float>::max();
  // The best value of each time over the devices that may take the evaluated node, before memory
  // is considered.
  struct Best {
    float start = kNever, end = kNever, free = kNever, arrival = kNever;
    float compute = kNever, transfer = kNever, behind_traffic = kNever;
  };
  Best find_times(NodeId node);
  void fill_features(NodeId node, const Best& best);

  const cost::Problem& problem_;
  const std::size_t devices_;
  const FeatureSet without_;
  std::vector<float> compute_;        // by node and column of the problem's table
  std::vector<float> link_slowness_;  // by device
  float per_load_ = 1.0f;             // 1 over a device's fair share of the graph's compute time

  ArrivalEstimate arrivals_;
  Locality locality_;
  Candidates candidates_;
  std::optional<MemoryEstimate> memory_;  // only if memory can bind
  std::vector<float> free_;               // by device: when its last node ends
  std::vector<float> load_;               // by device: sum of the compute times of its nodes
  std::vector<DeviceId> unit_device_;     // by unit; invalid: not placed
  std::size_t placed_ = 0;

  // These arrays have values for each device, about the evaluated node.
  std::vector<float> start_, end_, start_behind_traffic_;
  std::vector<float> logs_;  // features that are logarithms, some for each device
  std::vector<float> features_;
  std::vector<std::uint8_t> may_take_;
};

}  // namespace doppler::policy
