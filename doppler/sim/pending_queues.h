// Nodes whose last input is on its way, per device, by time of arrival. Internal to sim/.
//
// Most of the time only a few wait at a device, and scanning an unsorted list without branches
// beats a heap. A list that outgrows kScan becomes a heap until it is empty again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/sim/ready_queues.h"

namespace doppler::sim {

class PendingQueues {
 public:
  void resize(std::size_t nodes, std::size_t devices) {
    slices_.resize(nodes, devices);
    earliest_.resize(devices);
    is_heap_.resize(devices);
  }
  void reset(std::span<const DeviceId> device) {
    slices_.reset(device);
    std::fill(earliest_.begin(), earliest_.end(), cost::kInfinity);
    std::fill(is_heap_.begin(), is_heap_.end(), 0u);
  }
  // Infinite where nothing is on its way.
  double earliest(std::uint32_t device) const { return earliest_[device]; }

  [[gnu::always_inline]] void put(std::uint32_t device, double arrival, std::uint32_t node) {
    earliest_[device] = std::min(earliest_[device], arrival);
    HeapItem* items = slices_.slice(device);
    std::uint32_t& size = slices_.size(device);
    if (is_heap_[device]) [[unlikely]] {
      heap_push<SmallestFirst>(items, size, {arrival, node});
      return;
    }
    items[size++] = {arrival, node};
    if (size > kScan) [[unlikely]]
      make_heap(device);
  }

  // Removes everything that has arrived by `now`, calling arrived(node) for each.
  template <class Arrived>
  void drain(std::uint32_t device, double now, const Arrived& arrived) {
    HeapItem* items = slices_.slice(device);
    std::uint32_t& size = slices_.size(device);
    if (is_heap_[device]) [[unlikely]] {
      while (size > 0 && items[0].key <= now) arrived(heap_pop<SmallestFirst>(items, size).id);
      earliest_[device] = size > 0 ? items[0].key : cost::kInfinity;
      is_heap_[device] = size > 0;
      return;
    }
    std::uint32_t kept = 0;
    double earliest = cost::kInfinity;
    for (std::uint32_t i = 0; i < size; ++i) {
      const HeapItem item = items[i];
      if (item.key <= now) {
        arrived(item.id);
      } else {
        items[kept++] = item;
        earliest = std::min(earliest, item.key);
      }
    }
    size = kept;
    earliest_[device] = earliest;
  }

 private:
  static constexpr std::uint32_t kScan = 32;

  [[gnu::noinline]] void make_heap(std::uint32_t device) {
    HeapItem* items = slices_.slice(device);
    std::make_heap(items, items + slices_.size(device), [](const HeapItem& a, const HeapItem& b) {
      return SmallestFirst::before(b, a);
    });
    is_heap_[device] = 1;
  }

  DeviceSlices slices_;
  std::vector<double> earliest_;
  std::vector<std::uint32_t> is_heap_;
};

}  // namespace doppler::sim
