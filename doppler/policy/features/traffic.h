// Transfers on shared channels while a placement is built: which tensors are on their way to which
// device, and when the channels are free again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "doppler/cost/problem.h"

namespace doppler::policy {

// Times are in units of `time_unit` seconds. Transfers happen in the order in which nodes are
// placed: a transfer waits for its tensor and for the transfers before it on its channels, and does
// not slip into gaps that these leave. So the times are estimates. Only for LinkMode::kChannel.
//
// Not thread safe; one object serves one placement after another without allocating.
class Traffic {
 public:
  // `problem` must outlive this object.
  Traffic(const cost::Problem& problem, double time_unit);

  // Forgets all transfers. Tensors with a home are there at time 0. Call it before anything else.
  void begin();

  // Finds the two results below for a node. REQUIRES: its producers are placed.
  void evaluate(NodeId node);
  // Returns, by device, when all inputs of the evaluated node could be there.
  std::span<const float> arrivals() const { return arrival_; }
  // Returns, by device, the sum of the transfer times that the evaluated node still needs.
  std::span<const float> transfer_times() const { return transfer_times_; }

  // Puts the node on the device, where it ends at time `end`, and sends it the inputs that are not
  // there yet.
  void place(NodeId node, DeviceId device, float end);
  // Returns the tensors that the last place() was the first to send to its device. Valid until the
  // next place().
  std::span<const TensorId> sent() const { return sent_; }

 private:
  // Returns whether all transfers to the device share a channel that takes one at a time.
  bool one_by_one(DeviceId to) const;
  float transfer_time(TensorId tensor, DeviceId from, DeviceId to) const;
  // Returns when every channel of the route has room again.
  float route_free(DeviceId from, DeviceId to) const;

  const cost::Problem& problem_;
  const double per_unit_;  // 1 / time_unit
  const std::size_t devices_;
  std::vector<double> amount_;             // by tensor: seconds where given, else bytes
  std::vector<std::uint8_t> one_by_one_;   // by device
  std::vector<std::uint32_t> first_slot_;  // by channel, and one more
  std::vector<float> slot_;                // by channel and unit of its capacity: when it is free
  std::vector<float> channel_free_;        // by channel: the first of its slots
  std::vector<DeviceId> source_;           // by tensor; invalid: not placed
  std::vector<float> at_;                  // by tensor and device; negative: not sent
  std::vector<float> arrival_, transfer_times_;  // by device, for the evaluated node
  std::vector<float> queue_;  // by device: when the last of the evaluated node's transfers ends
  std::vector<TensorId> sent_;
};

}  // namespace doppler::policy
