// When each device needs attention next: at the end of its node or, where it is idle, at the next
// arrival. Two implementations of one interface. Internal to sim/.
//
// take_due(due) returns the earliest time, infinite where nothing is due, adds the devices due then
// to the set `due`, and makes their times infinite.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/sim/device_set.h"

namespace doppler::sim {

// Up to kMost devices: scanned without branches, since mispredicted ones would cost more.
class FewDueTimes {
 public:
  static constexpr std::size_t kMost = 16;
  using Set = FewDevices;

  void resize(std::size_t devices) { groups_ = (devices + 3) / 4; }
  void reset() { time_.fill(cost::kInfinity); }
  void set(std::uint32_t device, double time) { time_[device] = time; }
  void lower(std::uint32_t device, double time) { time_[device] = std::min(time_[device], time); }
  double take_due(Set& due) {
    const double now = earliest();
    if (now == cost::kInfinity) return now;
    std::uint64_t mask = equal_to(now);
    due.insert_all(mask);
    for (; mask != 0; mask &= mask - 1) {
      time_[static_cast<std::size_t>(std::countr_zero(mask))] = cost::kInfinity;
    }
    return now;
  }

 private:
  // Scalar on purpose: a vector load over a time just stored would wait for the store to reach the
  // cache.
  double earliest() const {
    double now = cost::kInfinity;
    for (std::size_t g = 0; g < groups_; ++g) {
      const double* t = &time_[4 * g];
      now = std::min(now, std::min(std::min(t[0], t[1]), std::min(t[2], t[3])));
    }
    return now;
  }
  std::uint64_t equal_to(double now) const {
    std::uint64_t mask = 0;
    for (std::size_t g = groups_; g-- > 0;) {
      const double* t = &time_[4 * g];
      mask = mask << 4 | std::uint64_t{t[0] == now} | std::uint64_t{t[1] == now} << 1 |
             std::uint64_t{t[2] == now} << 2 | std::uint64_t{t[3] == now} << 3;
    }
    return mask;
  }

  std::size_t groups_ = 1;  // of four devices; those beyond the last are never due
  std::array<double, kMost> time_{};
};

// Any number of devices: a tree of winners, O(log devices) for a change.
class ManyDueTimes {
 public:
  using Set = DeviceSet;

  void resize(std::size_t devices) {
    leaves_ = std::bit_ceil(devices);
    time_.resize(leaves_);
    winner_.resize(2 * leaves_);
  }
  void reset() {
    std::fill(time_.begin(), time_.end(), cost::kInfinity);
    for (std::size_t i = 0; i < leaves_; ++i) winner_[leaves_ + i] = static_cast<std::uint32_t>(i);
    for (std::size_t i = leaves_; i-- > 1;) winner_[i] = winner_[2 * i];
  }
  void set(std::uint32_t device, double time) {
    time_[device] = time;
    for (std::size_t at = (leaves_ + device) / 2; at >= 1; at /= 2) {
      const std::uint32_t left = winner_[2 * at], right = winner_[2 * at + 1];
      winner_[at] = time_[right] < time_[left] ? right : left;
    }
  }
  void lower(std::uint32_t device, double time) {
    if (time < time_[device]) set(device, time);
  }
  double take_due(Set& due) {
    const double now = time_[winner_[1]];
    if (now == cost::kInfinity) return now;
    for (std::uint32_t d = winner_[1]; time_[d] == now; d = winner_[1]) {
      due.insert(d);
      set(d, cost::kInfinity);
    }
    return now;
  }

 private:
  std::size_t leaves_ = 1;
  std::vector<double> time_;
  std::vector<std::uint32_t> winner_;
};

}  // namespace doppler::sim
