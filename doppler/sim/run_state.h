// What both link modes keep while they simulate a run, in flat arrays sized once. Internal to sim/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"
#include "doppler/sim/heap.h"
#include "doppler/sim/jitter.h"

namespace doppler::sim {

// No node: the cause of a node that waited for nothing.
inline constexpr std::uint32_t kNoNode = 0xffffffffu;

// Lower bounds used to cut runs off are made smaller by this share, so that their rounding never
// cuts off a run that would have been in time.
inline constexpr double kCutoffMargin = 1e-9;

// Progress of one node.
struct NodeState {
  double ready;           // when the last of its inputs so far arrives
  std::uint32_t missing;  // inputs not yet accounted for
  std::uint32_t cause;    // producer of the input that arrives last, or kNoNode
};

// Ready queues of all devices. Each has a slice as long as the number of nodes placed there, so
// nothing grows during a run.
class ReadyQueues {
 public:
  void resize(std::size_t nodes, std::size_t devices) {
    items_.resize(nodes);
    begin_.resize(devices + 1);
    size_.resize(devices);
  }
  // Empties all queues and cuts the slices for an assignment.
  void reset(std::span<const DeviceId> device) {
    std::fill(begin_.begin(), begin_.end(), 0u);
    std::fill(size_.begin(), size_.end(), 0u);
    for (const DeviceId d : device) ++begin_[d.index() + 1];
    for (std::size_t d = 1; d < begin_.size(); ++d) begin_[d] += begin_[d - 1];
  }
  bool empty(std::uint32_t d) const { return size_[d] == 0; }
  const HeapItem& top(std::uint32_t d) const { return items_[begin_[d]]; }

  template <class Order>
  void push(std::uint32_t d, HeapItem item) {
    heap_push<Order>(&items_[begin_[d]], size_[d], item);
  }
  template <class Order>
  HeapItem pop(std::uint32_t d) {
    return heap_pop<Order>(&items_[begin_[d]], size_[d]);
  }
  // For the random rule: the slice as a bag.
  void put(std::uint32_t d, HeapItem item) { items_[begin_[d] + size_[d]++] = item; }
  HeapItem take_random(std::uint32_t d, Rng& rng) {
    HeapItem* slice = &items_[begin_[d]];
    const std::uint32_t i = rng.below(size_[d]);
    const HeapItem item = slice[i];
    slice[i] = slice[--size_[d]];
    return item;
  }

 private:
  std::vector<HeapItem> items_;
  std::vector<std::uint32_t> begin_, size_;
};

// The earliest of a fixed number of times, with O(log count) updates: a tree of winners.
class EarliestTime {
 public:
  void resize(std::size_t count) {
    leaves_ = 1;
    while (leaves_ < count) leaves_ *= 2;
    time_.assign(leaves_, cost::kInfinity);
    winner_.assign(2 * leaves_, 0);
    reset();
  }
  void reset() {
    std::fill(time_.begin(), time_.end(), cost::kInfinity);
    for (std::size_t i = 0; i < leaves_; ++i) winner_[leaves_ + i] = static_cast<std::uint32_t>(i);
    for (std::size_t i = leaves_; i-- > 1;) winner_[i] = winner_[2 * i];
  }
  double time(std::uint32_t i) const { return time_[i]; }
  std::uint32_t earliest() const { return winner_[1]; }
  void set(std::uint32_t i, double time) {
    time_[i] = time;
    for (std::size_t at = (leaves_ + i) / 2; at >= 1; at /= 2) {
      const std::uint32_t left = winner_[2 * at], right = winner_[2 * at + 1];
      winner_[at] = time_[right] < time_[left] ? right : left;
    }
  }

 private:
  std::size_t leaves_ = 1;
  std::vector<double> time_;
  std::vector<std::uint32_t> winner_;
};

// The assignment under test, as the run loops see it.
struct RunInput {
  std::span<const DeviceId> device;
  std::span<const double> priority;
  std::uint64_t seed = 0;
  const JitterTable* jitter = nullptr;  // where costs are jittered
  double cutoff = cost::kInfinity;
  schedule::Timeline* record = nullptr;  // filled where set; its vectors have the right size
};

// What is common to both loops.
struct RunState {
  explicit RunState(const cost::Problem& problem);

  // Starts a run: every node waits for its inputs, every queue is empty.
  void reset(const RunInput& input);

  template <schedule::Choice kChoice>
  void make_ready(std::uint32_t on_device, std::uint32_t node, const RunInput& input) {
    if constexpr (kChoice == schedule::Choice::kRandom) {
      ready.put(on_device, {0.0, node});
    } else if constexpr (kChoice == schedule::Choice::kFifo) {
      ready.push<LargestFirst>(on_device, {-nodes[node].ready, node});
    } else {
      ready.push<LargestFirst>(on_device, {input.priority[node], node});
    }
  }
  // REQUIRES: something is ready on the device.
  template <schedule::Choice kChoice>
  std::uint32_t take_best(std::uint32_t on_device, Rng& rng) {
    if constexpr (kChoice == schedule::Choice::kRandom) {
      return ready.take_random(on_device, rng).id;
    } else {
      return ready.pop<LargestFirst>(on_device).id;
    }
  }
  // Notes that a node starts, for whoever looks at the run afterwards.
  void note_start(std::uint32_t node, std::uint32_t on_device, double time) {
    start[node] = time;
    previous[node] = last_on_device[on_device];
    last_on_device[on_device] = node;
  }

  const cost::Problem& problem;
  std::vector<NodeState> nodes_at_start;  // what `nodes` begins a run with
  std::vector<NodeState> nodes;
  // A lower bound on the time from a node's start to the end of any run: the longest path in least
  // compute times, a hair smaller so that rounding never cuts off a run that would have been in
  // time.
  std::vector<double> tail;
  std::vector<double> start;            // by node, of the last complete run
  std::vector<std::uint32_t> previous;  // node before it on its device, or kNoNode
  std::vector<std::uint32_t> last_on_device;
  std::vector<double> work_left;  // by device: compute not yet started, where cut-offs use it
  ReadyQueues ready;
};

// Distinguishes jitter of nodes from that of transfers.
inline std::uint64_t node_key(std::uint32_t node) {
  return node;
}
inline std::uint64_t transfer_key(std::uint32_t tensor, std::uint32_t to) {
  return (std::uint64_t{tensor} + 1) << 32 | to;
}

}  // namespace doppler::sim
