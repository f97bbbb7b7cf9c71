// Log-normal factors on costs that depend only on (seed, what is jittered), never on the order of
// events: two placements under one seed see the same factor on the same node.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"
#include "doppler/sim/ready_queues.h"

namespace doppler::sim {

// exp(sigma x z) with z from 4096 equally likely quantiles of the standard normal: as good as the
// continuous law for means and 95th percentiles, and one table look-up per cost.
class JitterTable {
 public:
  explicit JitterTable(double sigma);

  double sigma() const { return sigma_; }
  double factor(std::uint64_t seed, std::uint64_t what) const {
    return factors_[mix64(seed ^ mix64(what)) >> (64 - kBits)];
  }

 private:
  static constexpr int kBits = 12;
  double sigma_;
  std::array<double, std::size_t{1} << kBits> factors_;
};

// A set of devices as bits, visited in rising order. Internal to sim/.

class DeviceSet {
 public:
  void resize(std::size_t devices) { words_.assign((devices + 63) / 64, 0); }
  void clear() {
    for (std::uint64_t& word : words_) word = 0;
  }
  void insert(std::uint32_t device) { words_[device / 64] |= std::uint64_t{1} << (device % 64); }
  // `visit` must not change the set.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (std::uint64_t bits = words_[w]; bits != 0; bits &= bits - 1) {
        visit(
            static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
      }
    }
  }

 private:
  std::vector<std::uint64_t> words_;
};

// What both link modes keep while they simulate a run, in flat arrays sized once. Internal to sim/.

// Lower bounds used to cut runs off are made smaller by this share, so that their rounding never
// cuts off a run that would have been in time.
inline constexpr double kCutoffMargin = 1e-9;

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
  void reset(const RunInput& input, schedule::Choice choice);

  // The queues of the run's choice rule: put(device, node, its state), empty(device) and, where
  // something is ready there, take(device, rng).
  template <schedule::Choice kChoice>
  decltype(auto) ready() {
    if constexpr (kChoice == schedule::Choice::kRandom) {
      return (random);
    } else if constexpr (kChoice == schedule::Choice::kFifo) {
      return (fifo);
    } else {
      return ranked.view();
    }
  }
  // Notes that a node starts, for whoever looks at the run afterwards.
  void note_start(std::uint32_t node, std::uint32_t on_device, double time) {
    starts[node].start = time;
    starts[node].previous = last_on_device[on_device];
    last_on_device[on_device] = node;
  }

  const cost::Problem& problem;
  std::vector<NodeState> nodes;
  std::vector<StartState> starts;
  std::vector<std::uint32_t> input_count;  // by node: inputs that it waits for
  std::vector<std::uint32_t> sources;      // nodes that wait for nothing
  std::vector<std::uint32_t> last_on_device;
  std::vector<std::uint32_t> nodes_on_device;
  // By device: compute not yet started, a hair smaller for the same reason as StartState::tail.
  std::vector<double> work_left;
  RankedQueues ranked;  // of the three, the one for the run's choice rule is in use
  HeapQueues fifo;
  RandomQueues random;
  std::vector<std::uint32_t> running;  // node per device, or kNoNode
  DeviceSet touched;                   // devices that may start something now
};

// Distinguishes jitter of nodes from that of transfers.
inline std::uint64_t node_key(std::uint32_t node) {
  return node;
}
inline std::uint64_t transfer_key(std::uint32_t tensor, std::uint32_t to) {
  return (std::uint64_t{tensor} + 1) << 32 | to;
}

}  // namespace doppler::sim
