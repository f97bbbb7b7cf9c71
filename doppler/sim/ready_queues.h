// The ready nodes of every device, in one class per choice rule. Internal to sim/.
//
// Mispredicted branches are what a simulated event costs, so the priority rule works on ranks:
// nodes are ranked once per priority vector, a device's ready nodes are a bit set over ranks, and
// the best is the first bit.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/sim/heap.h"
#include "doppler/sim/simulator.h"

namespace doppler::sim {

// The priority rule: the highest priority first, ties to the lower id.
class RankedQueues {
 public:
  void resize(std::size_t nodes, std::size_t devices);
  // Empties all queues, and ranks the nodes anew where the priorities have changed since the last
  // call.
  void reset(std::span<const double> priority, std::span<NodeState> nodes);

  // Returns the rank of the best node with the same priority as that of this rank.
  std::uint32_t rank_of_priority(std::uint32_t rank) const {
    return has_ties_ ? first_of_priority_[rank] : rank;
  }

  // The queues as plain pointers for the run loops, valid until the next reset().
  class View;
  View view();

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  void rank(std::span<const double> priority, std::span<NodeState> nodes);

  std::size_t words_ = 0, summary_words_ = 0;     // per device
  std::vector<std::uint64_t> bits_;               // a bit per (device, rank)
  std::vector<std::uint64_t> summary_;            // a bit per word of bits_ that is not zero
  std::vector<std::uint32_t> node_;               // by rank
  std::vector<std::uint32_t> best_;               // the least rank per device, or kNone
  std::vector<double> priority_;                  // what the ranks were made from
  std::vector<std::uint32_t> first_of_priority_;  // by rank
  bool has_ties_ = true;
};

class RankedQueues::View {
 public:
  bool empty(std::uint32_t device) const { return best_[device] == kNone; }
  [[gnu::always_inline]] void put(std::uint32_t device, std::uint32_t, const NodeState& state) {
    const std::uint32_t rank = state.rank;
    best_[device] = std::min(best_[device], rank);
    bits_[device * words_ + rank / 64] |= std::uint64_t{1} << (rank % 64);
    summary_[device * summary_words_ + rank / 4096] |= std::uint64_t{1} << (rank / 64 % 64);
  }
  // Returns what take() would return now; any node where the queue is empty.
  std::uint32_t peek(std::uint32_t device) const {
    return node_[empty(device) ? 0 : best_[device]];
  }
  // Removes and returns the best node. REQUIRES: the queue is not empty.
  [[gnu::always_inline]] std::uint32_t take(std::uint32_t device, Rng&) {
    const std::uint32_t rank = best_[device];
    std::uint64_t* const bits = bits_ + device * words_;
    std::uint64_t* const summary = summary_ + device * summary_words_;
    std::size_t word = rank / 64;
    bits[word] &= bits[word] - 1;  // the best is the first bit of its word
    std::size_t group = word / 64;
    summary[group] &= ~(std::uint64_t{bits[word] == 0} << (word % 64));
    while (summary[group] == 0 && group + 1 < summary_words_) ++group;
    if (summary[group] == 0) {
      best_[device] = kNone;
    } else {
      word = group * 64 + static_cast<std::size_t>(std::countr_zero(summary[group]));
      best_[device] = static_cast<std::uint32_t>(
          word * 64 + static_cast<std::size_t>(std::countr_zero(bits[word])));
    }
    return node_[rank];
  }

 private:
  friend class RankedQueues;
  explicit View(RankedQueues& queues)
      : words_(queues.words_),
        summary_words_(queues.summary_words_),
        bits_(queues.bits_.data()),
        summary_(queues.summary_.data()),
        node_(queues.node_.data()),
        best_(queues.best_.data()) {}

  std::size_t words_, summary_words_;
  std::uint64_t *bits_, *summary_;
  const std::uint32_t* node_;
  std::uint32_t* best_;
};

inline RankedQueues::View RankedQueues::view() {
  return View(*this);
}

// A flat array with one slice per device, as long as the number of nodes placed there, so that
// nothing grows during a run.
class DeviceSlices {
 public:
  void resize(std::size_t nodes, std::size_t devices) {
    items_.resize(nodes);
    begin_.resize(devices);
    size_.resize(devices);
  }
  // Empties all slices. `room` holds how many nodes there are to come, by device.
  void reset(std::span<const std::uint32_t> room) {
    std::fill(size_.begin(), size_.end(), 0u);
    std::exclusive_scan(room.begin(), room.end(), begin_.begin(), 0u);
  }
  HeapItem* slice(std::uint32_t device) { return items_.data() + begin_[device]; }
  std::uint32_t& size(std::uint32_t device) { return size_[device]; }
  std::uint32_t size(std::uint32_t device) const { return size_[device]; }

 private:
  std::vector<HeapItem> items_;
  std::vector<std::uint32_t> begin_, size_;
};

// The fifo rule: the earliest ready time first, ties to the lower id.
class HeapQueues {
 public:
  void resize(std::size_t nodes, std::size_t devices) { slices_.resize(nodes, devices); }
  void reset(std::span<const std::uint32_t> room) { slices_.reset(room); }
  bool empty(std::uint32_t device) const { return slices_.size(device) == 0; }
  void put(std::uint32_t device, std::uint32_t node, const NodeState& state) {
    heap_push<SmallestFirst>(slices_.slice(device), slices_.size(device), {state.ready, node});
  }
  std::uint32_t take(std::uint32_t device, Rng&) {
    return heap_pop<SmallestFirst>(slices_.slice(device), slices_.size(device)).id;
  }

 private:
  DeviceSlices slices_;
};

// The random rule: every ready node of a device has the same chance.
class RandomQueues {
 public:
  void resize(std::size_t nodes, std::size_t devices) { slices_.resize(nodes, devices); }
  void reset(std::span<const std::uint32_t> room) { slices_.reset(room); }
  bool empty(std::uint32_t device) const { return slices_.size(device) == 0; }
  void put(std::uint32_t device, std::uint32_t node, const NodeState&) {
    slices_.slice(device)[slices_.size(device)++] = {0.0, node};
  }
  std::uint32_t take(std::uint32_t device, Rng& rng) {
    HeapItem* slice = slices_.slice(device);
    const std::uint32_t i = rng.below(slices_.size(device));
    const std::uint32_t node = slice[i].id;
    slice[i] = slice[--slices_.size(device)];
    return node;
  }

 private:
  DeviceSlices slices_;
};

}  // namespace doppler::sim
