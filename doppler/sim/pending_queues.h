// The nodes whose last input is on its way, per device, by time of arrival. Internal to sim/.
//
// Most of the time only a few nodes wait at a device, and scanning an unsorted list without
// branches is faster than a heap. A list that grows beyond kMostScanned becomes a heap until it is
// empty again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/sim/heap.h"

namespace doppler::sim {

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

}  // namespace doppler::sim
