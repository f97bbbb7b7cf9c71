#include "doppler/policy/features/traffic.h"

#include <algorithm>

namespace doppler::policy {
namespace {

constexpr float kNotSent = -1.0f;
// A channel that takes more transfers at once is treated as if it took this many: it hardly ever
// makes one wait.
constexpr std::uint32_t kMostSlots = 64;

}  // namespace

Traffic::Traffic(const cost::Problem& problem, double time_unit)
    : problem_(problem), per_unit_(1.0 / time_unit), devices_(problem.device_count()) {
  amount_.resize(problem.tensor_count());
  for (std::size_t t = 0; t < amount_.size(); ++t) {
    amount_[t] = problem.tensor_amount(TensorId::of(t));
    for (const cost::Problem::Edge& edge : problem.edges_of(TensorId::of(t))) {
      amount_[t] = std::max(amount_[t], edge.amount);
    }
  }
  one_by_one_.resize(devices_);
  for (std::size_t to = 0; to < devices_; ++to) one_by_one_[to] = one_by_one(DeviceId::of(to));
  first_slot_.push_back(0);
  for (std::size_t c = 0; c < problem.channel_count(); ++c) {
    first_slot_.push_back(first_slot_.back() +
                          std::min(kMostSlots, problem.channel_capacity(ChannelId::of(c))));
  }
  arrival_.resize(devices_);
  transfer_times_.resize(devices_);
  queue_.resize(devices_);
}

bool Traffic::one_by_one(DeviceId to) const {
  std::vector<ChannelId> common;
  for (std::size_t d = 0; d < devices_; ++d) {
    const DeviceId from = DeviceId::of(d);
    if (from == to) continue;
    const auto route = problem_.route(from, to);
    if (from.index() == (to.index() == 0 ? 1 : 0)) common.assign(route.begin(), route.end());
    std::erase_if(common, [&](ChannelId channel) {
      return problem_.channel_capacity(channel) > 1 ||
             std::find(route.begin(), route.end(), channel) == route.end();
    });
  }
  return !common.empty();
}

void Traffic::begin() {
  slot_.assign(first_slot_.back(), 0.0f);
  channel_free_.assign(problem_.channel_count(), 0.0f);
  source_.assign(problem_.tensor_count(), DeviceId());
  at_.assign(problem_.tensor_count() * devices_, kNotSent);
  for (const TensorId tensor : problem_.homed()) {
    const DeviceId home = problem_.home(tensor);
    source_[tensor.index()] = home;
    at_[tensor.index() * devices_ + home.index()] = 0.0f;
  }
}

float Traffic::transfer_time(TensorId tensor, DeviceId from, DeviceId to) const {
  return static_cast<float>(per_unit_ * problem_.transfer_time(problem_.transfer_by_bytes(tensor),
                                                               amount_[tensor.index()], from, to));
}

float Traffic::route_free(DeviceId from, DeviceId to) const {
  float free = 0.0f;
  for (const ChannelId channel : problem_.route(from, to)) {
    free = std::max(free, channel_free_[channel.index()]);
  }
  return free;
}

void Traffic::evaluate(NodeId node) {
  std::fill(arrival_.begin(), arrival_.end(), 0.0f);
  std::fill(transfer_times_.begin(), transfer_times_.end(), 0.0f);
  std::fill(queue_.begin(), queue_.end(), 0.0f);
  for (const TensorId tensor : problem_.awaited(node)) {
    const DeviceId from = source_[tensor.index()];
    const float* at = &at_[tensor.index() * devices_];
    const float ready = at[from.index()];
    for (std::size_t d = 0; d < devices_; ++d) {
      if (at[d] >= 0.0f) {
        arrival_[d] = std::max(arrival_[d], at[d]);
        continue;
      }
      const DeviceId to = DeviceId::of(d);
      const float needed = transfer_time(tensor, from, to);
      float end = std::max(ready, route_free(from, to)) + needed;
      if (one_by_one_[d]) end = std::max(end, queue_[d] + needed);
      queue_[d] = end;
      arrival_[d] = std::max(arrival_[d], end);
      transfer_times_[d] += needed;
    }
  }
}

void Traffic::place(NodeId node, DeviceId device, float end) {
  sent_.clear();
  for (const TensorId tensor : problem_.awaited(node)) {
    float* at = &at_[tensor.index() * devices_];
    if (at[device.index()] >= 0.0f) continue;
    const DeviceId from = source_[tensor.index()];
    const float arrival =
        std::max(at[from.index()], route_free(from, device)) + transfer_time(tensor, from, device);
    at[device.index()] = arrival;
    sent_.push_back(tensor);
    for (const ChannelId channel : problem_.route(from, device)) {
      const auto first = slot_.begin() + first_slot_[channel.index()];
      const auto last = slot_.begin() + first_slot_[channel.index() + 1];
      *std::min_element(first, last) = arrival;
      channel_free_[channel.index()] = *std::min_element(first, last);
    }
  }
  for (const TensorId tensor : problem_.graph().outputs(node)) {
    source_[tensor.index()] = device;
    at_[tensor.index() * devices_ + device.index()] = end;
  }
}

}  // namespace doppler::policy
