// When each device needs attention next: at the end of its node or, where it is idle, at the next
// arrival. Two implementations of one interface. Internal to sim/.
//
// first() returns the device to serve next: the one with the earliest time, ties to the lower id.
// Its time is infinite where nothing is left to do.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "doppler/cost/problem.h"

namespace doppler::sim {

// For up to kMostDevices devices: a scan without branches, since mispredicted ones would cost more.
// Scalar on purpose: a vector load over a time just stored would wait for the store to reach the
// cache.
class FewDueTimes {
 public:
  static constexpr std::size_t kMostDevices = 16;

  void resize(std::size_t devices) { groups_ = (devices + 3) / 4; }
  void reset() { time_.fill(cost::kInfinity); }
  double at(std::uint32_t device) const { return time_[device]; }
  void set(std::uint32_t device, double time) { time_[device] = time; }
  void lower(std::uint32_t device, double time) { time_[device] = std::min(time_[device], time); }
  [[gnu::always_inline]] std::uint32_t first() const {
    Candidate best = first_of_four(0);
    for (std::uint32_t g = 1; g < groups_; ++g) best = earlier(best, first_of_four(4 * g));
    return best.device;
  }

 private:
  struct Candidate {
    double time;
    std::uint32_t device;
  };
  static Candidate earlier(Candidate a, Candidate b) {
    const std::uint32_t take_b = -static_cast<std::uint32_t>(b.time < a.time);
    return {std::min(a.time, b.time), a.device ^ ((a.device ^ b.device) & take_b)};
  }
  Candidate first_of_four(std::uint32_t d) const {
    const double* t = &time_[d];
    return earlier(earlier({t[0], d}, {t[1], d + 1}), earlier({t[2], d + 2}, {t[3], d + 3}));
  }

  std::size_t groups_ = 1;  // of four devices; those beyond the last are never due
  std::array<double, kMostDevices> time_{};
};

// For any number of devices: a tree of winners. A change takes O(log devices).
class ManyDueTimes {
 public:
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
  double at(std::uint32_t device) const { return time_[device]; }
  std::uint32_t first() const { return winner_[1]; }

 private:
  std::size_t leaves_ = 1;
  std::vector<double> time_;
  std::vector<std::uint32_t> winner_;
};

}  // namespace doppler::sim
