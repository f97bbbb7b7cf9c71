// Estimates when the inputs of a node could be on each device of a partial placement.
//
// There are two estimates. One lets every transfer take its uncontended time. The other lets
// transfers wait for those that placed nodes already need: channel by channel where the problem has
// shared channels (see Traffic), else as if all transfers to a device went one after the other.
//
// All times are in units of `time_unit` seconds. Not thread safe; one object serves one placement
// after another without allocating.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/policy/features/traffic.h"

namespace doppler::policy {

class ArrivalEstimate {
 public:
  // `problem` must outlive this object.
  ArrivalEstimate(const cost::Problem& problem, double time_unit);

  // Forgets all placed nodes. Call it before anything else.
  void begin();

  // Returns, by device, when the inputs of the node could be there if no transfer waited for
  // another. REQUIRES: the node's producers are placed.
  std::span<const float> uncontended(NodeId node) const {
    return {&arrival_[node.index() * devices_], devices_};
  }

  // Finds the two results below for a node. REQUIRES: its producers are placed.
  void evaluate(NodeId node);
  // Returns, by device, when the inputs of the evaluated node could be there behind the other
  // transfers.
  std::span<const float> behind_traffic() const {
    return traffic_ ? traffic_->arrivals() : std::span<const float>(behind_traffic_);
  }
  // Returns, by device, the sum of the transfer times that the inputs of the evaluated node still
  // need.
  std::span<const float> transfer_times() const {
    return traffic_ ? traffic_->transfer_times()
                    : std::span<const float>(&moved_[evaluated_ * devices_], devices_);
  }

  // Puts the node on the device, where it ends at time `end`.
  void place(NodeId node, DeviceId device, float end);
  // Returns the tensors that the last place() was the first to send to its device; none where
  // transfers do not share channels. Valid until the next place().
  std::span<const TensorId> sent() const {
    return traffic_ ? traffic_->sent() : std::span<const TensorId>();
  }

 private:
  const cost::Problem& problem_;
  const double time_unit_;
  const std::size_t devices_;
  std::vector<float> first_arrival_, first_moved_;  // arrival_ and moved_ before anything is placed

  std::vector<float> arrival_;      // by node and device: when its placed inputs could be there
  std::vector<float> moved_;        // by node and device: transfer times of its placed inputs
  std::optional<Traffic> traffic_;  // where transfers share channels; else the next two are used
  std::vector<float> links_free_;   // by device: when all transfers to it end, one after the other
  std::vector<float> behind_traffic_;  // by device, for the evaluated node
  std::size_t evaluated_ = 0;          // the evaluated node
};

}  // namespace doppler::policy
