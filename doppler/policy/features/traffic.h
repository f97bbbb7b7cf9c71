// Transfers on shared channels while a placement is built: what is on its way to where, and when
// the channels are free again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "doppler/cost/problem.h"

namespace doppler::policy {

// An estimate, in the order in which nodes are placed: a transfer waits for its tensor and for the
// transfers before it on its channels, and does not slip into gaps that these leave. Only for
// LinkMode::kChannel. Times in units of `time_unit` seconds.
class Traffic {
 public:
  // `problem` must outlive this object.
  Traffic(const cost::Problem& problem, double time_unit);

  // Nothing moves; tensors with a home are there at time 0.
  void begin();
  // When all that the node waits for could be on each device. REQUIRES: its producers are placed.
  void look(NodeId node);
  std::span<const float> arrivals() const { return arrival_; }
  // The transfers that each device would still need.
  std::span<const float> moved() const { return moved_; }

  // Sends the node what it waits for, and says when it ends.
  void place(NodeId node, DeviceId device, float end);
  // Tensors that place() was the first to send to its device.
  std::span<const TensorId> sent() const { return sent_; }

 private:
  // Do all transfers to the device share a channel that takes one at a time?
  bool one_by_one(DeviceId to) const;
  float transfer(TensorId tensor, DeviceId from, DeviceId to) const;
  // When the whole route has room again.
  float free(DeviceId from, DeviceId to) const;

  const cost::Problem& problem_;
  const double per_unit_;
  const std::size_t devices_;
  std::vector<double> amount_;             // by tensor: seconds where given, else bytes
  std::vector<std::uint8_t> one_by_one_;   // by device
  std::vector<std::uint32_t> first_slot_;  // by channel, and one more
  std::vector<float> slot_;                // by channel and unit of its capacity: when it is free
  std::vector<float> channel_free_;        // by channel: the first of its slots
  std::vector<DeviceId> source_;           // by tensor; invalid: not placed
  std::vector<float> at_;                  // by tensor and device; negative: not sent
  std::vector<float> arrival_, moved_;     // by device, for the node looked at
  std::vector<float> queue_;  // by device: when the last of that node's transfers to it ends
  std::vector<TensorId> sent_;
};

}  // namespace doppler::policy
