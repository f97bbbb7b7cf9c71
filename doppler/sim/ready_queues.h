// The ready nodes of every device, one class per choice rule. Internal to sim/.
//
// Mispredicted branches are what a simulated event costs, so the priority rule works on ranks:
// nodes are ranked once per priority vector, a device's ready nodes are a bit set over ranks, and
// the best is the first bit.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/base/rng.h"
#include "doppler/sim/heap.h"

namespace doppler::sim {

// Highest priority first, ties to the lower id.
class RankedQueues {
 public:
  void resize(std::size_t nodes, std::size_t devices);
  // Empties all queues; ranks nodes anew where the priorities have changed since the last call.
  void reset(std::span<const double> priority);

  bool empty(std::uint32_t device) const {
    const std::uint64_t* summary = &summary_[device * summary_words_];
    std::uint64_t any = summary[0];
    for (std::size_t i = 1; i < summary_words_; ++i) any |= summary[i];
    return any == 0;
  }
  [[gnu::always_inline]] void put(std::uint32_t device, std::uint32_t node) {
    const std::uint32_t rank = rank_[node];
    bits_[device * words_ + rank / 64] |= std::uint64_t{1} << (rank % 64);
    summary_[device * summary_words_ + rank / 4096] |= std::uint64_t{1} << (rank / 64 % 64);
  }
  // REQUIRES: not empty.
  [[gnu::always_inline]] std::uint32_t take(std::uint32_t device) {
    std::uint64_t* summary = &summary_[device * summary_words_];
    std::size_t i = 0;
    while (summary[i] == 0) ++i;
    const std::size_t word = i * 64 + static_cast<std::size_t>(std::countr_zero(summary[i]));
    std::uint64_t& bits = bits_[device * words_ + word];
    const std::size_t rank = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
    bits &= bits - 1;
    summary[i] &= ~(std::uint64_t{bits == 0} << (word % 64));
    return node_[rank];
  }

 private:
  void rank(std::span<const double> priority);

  std::size_t words_ = 0, summary_words_ = 0;  // per device
  std::vector<std::uint64_t> bits_;            // a bit per (device, rank)
  std::vector<std::uint64_t> summary_;         // a bit per word of bits_ that is not zero
  std::vector<std::uint32_t> rank_, node_;     // each other's inverse
  std::vector<double> priority_;               // what the ranks were made from
};

// One slice per device of a flat array, as long as the number of nodes placed there, so that
// nothing grows during a run.
class DeviceSlices {
 public:
  void resize(std::size_t nodes, std::size_t devices) {
    items_.resize(nodes);
    begin_.resize(devices + 1);
    size_.resize(devices);
  }
  void reset(std::span<const DeviceId> device) {
    std::fill(begin_.begin(), begin_.end(), 0u);
    std::fill(size_.begin(), size_.end(), 0u);
    for (const DeviceId d : device) ++begin_[d.index() + 1];
    for (std::size_t d = 1; d < begin_.size(); ++d) begin_[d] += begin_[d - 1];
  }
  HeapItem* slice(std::uint32_t device) { return items_.data() + begin_[device]; }
  std::uint32_t& size(std::uint32_t device) { return size_[device]; }
  std::uint32_t size(std::uint32_t device) const { return size_[device]; }

 private:
  std::vector<HeapItem> items_;
  std::vector<std::uint32_t> begin_, size_;
};

// Smallest key first, ties to the lower id: the fifo rule, with the ready time as key.
class HeapQueues {
 public:
  void resize(std::size_t nodes, std::size_t devices) { slices_.resize(nodes, devices); }
  void reset(std::span<const DeviceId> device) { slices_.reset(device); }
  bool empty(std::uint32_t device) const { return slices_.size(device) == 0; }
  void put(std::uint32_t device, double key, std::uint32_t node) {
    heap_push<SmallestFirst>(slices_.slice(device), slices_.size(device), {key, node});
  }
  std::uint32_t take(std::uint32_t device) {
    return heap_pop<SmallestFirst>(slices_.slice(device), slices_.size(device)).id;
  }

 private:
  DeviceSlices slices_;
};

// Any of them with equal chances.
class RandomQueues {
 public:
  void resize(std::size_t nodes, std::size_t devices) { slices_.resize(nodes, devices); }
  void reset(std::span<const DeviceId> device) { slices_.reset(device); }
  bool empty(std::uint32_t device) const { return slices_.size(device) == 0; }
  void put(std::uint32_t device, std::uint32_t node) {
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
