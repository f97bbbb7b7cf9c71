// Keeps track of what is to come at each device in the run loop for free links: the nodes whose
// last input is on its way, and the time at which the device needs attention next. Internal to
// sim/.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/sim/heap.h"

namespace doppler::sim {

// The nodes whose last input is on its way, per device, by time of arrival.
//
// Most of the time only a few nodes wait at a device, and scanning an unsorted list without
// branches is faster than a heap. A list that grows beyond kMostScanned becomes a heap until it is
// empty again.
class PendingQueues {
 public:
  class Queue;

  void resize(std::size_t nodes, std::size_t devices) {
    items_.resize(nodes);
    queues_.resize(devices);
  }
  // Empties all queues. `room` holds how many nodes there are to come, by device.
  void reset(std::span<const std::uint32_t> room) {
    HeapItem* items = items_.data();
    for (std::size_t d = 0; d < queues_.size(); ++d) {
      queues_[d] = Queue(items);
      items += room[d];
    }
  }

  class Queue {
   public:
    Queue() = default;
    explicit Queue(HeapItem* items) : items_(items) {}

    // Returns the earliest arrival, infinity where nothing is on its way.
    double earliest() const { return earliest_; }

    // Adds a node that can run from `arrival` on.
    [[gnu::always_inline]] void put(double arrival, std::uint32_t node) {
      earliest_ = std::min(earliest_, arrival);
      if (is_heap_) [[unlikely]] {
        heap_push<SmallestFirst>(items_, size_, {arrival, node});
        return;
      }
      items_[size_++] = {arrival, node};
      if (size_ > kMostScanned) [[unlikely]]
        make_heap();
    }

    // Removes everything that has arrived by `now`, calling arrived(node) for each.
    template <class Arrived>
    [[gnu::always_inline]] void drain(double now, const Arrived& arrived) {
      if (is_heap_) [[unlikely]] {
        while (size_ > 0 && items_[0].key <= now)
          arrived(heap_pop<SmallestFirst>(items_, size_).id);
        earliest_ = size_ > 0 ? items_[0].key : cost::kInfinity;
        is_heap_ = size_ > 0;
        return;
      }
      std::uint32_t kept = 0;
      double earliest = cost::kInfinity;
      for (std::uint32_t i = 0; i < size_; ++i) {
        const HeapItem item = items_[i];
        if (item.key <= now) {
          arrived(item.id);
        } else {
          items_[kept++] = item;
          earliest = std::min(earliest, item.key);
        }
      }
      size_ = kept;
      earliest_ = earliest;
    }

   private:
    static constexpr std::uint32_t kMostScanned = 32;

    [[gnu::noinline]] void make_heap() {
      std::make_heap(items_, items_ + size_, [](const HeapItem& a, const HeapItem& b) {
        return SmallestFirst::before(b, a);
      });
      is_heap_ = true;
    }

    HeapItem* items_ = nullptr;
    double earliest_ = cost::kInfinity;
    std::uint32_t size_ = 0;
    bool is_heap_ = false;
  };
  Queue* queues() { return queues_.data(); }  // by device

 private:
  std::vector<HeapItem> items_;
  std::vector<Queue> queues_;
};

// --- due times ---
//
// These two classes know when each device needs attention next: at the end of its node or, where it
// is idle, at the next arrival. They have one interface. first() returns the device to serve next:
// the one with the earliest time, ties to the lower id. Its time is infinite where nothing is left
// to do.

// Serves up to kMostDevices devices by a scan without branches, since mispredicted ones would cost
// more. Scalar on purpose: a vector load over a time just stored would wait for the store to reach
// the cache.
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

// Serves any number of devices by a tree of winners. A change takes O(log devices).
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
