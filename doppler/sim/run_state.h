// The state of a simulated run that both link modes share, in flat arrays sized once. Internal to
// sim/.
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

// Log-normal factors on costs. A factor depends only on the seed and on what it is applied to,
// never on the order of events: two placements under one seed see the same factor on the same node.
//
// A factor is exp(sigma x z) with z one of 4096 equally likely quantiles of the standard normal.
// That is as good as the continuous law for means and 95th percentiles, and costs one table
// look-up.
class JitterTable {
 public:
  explicit JitterTable(double sigma);

  double sigma() const { return sigma_; }
  // Returns the factor on `what`: node_key() or transfer_key().
  double factor(std::uint64_t seed, std::uint64_t what) const {
    return factors_[mix64(seed ^ mix64(what)) >> (64 - kBits)];
  }

 private:
  static constexpr int kBits = 12;
  double sigma_;
  std::array<double, std::size_t{1} << kBits> factors_;
};

// A set of devices as bits, visited in rising order.
class DeviceSet {
 public:
  void resize(std::size_t devices) { words_.assign((devices + 63) / 64, 0); }
  void clear() {
    for (std::uint64_t& word : words_) word = 0;
  }
  void insert(std::uint32_t device) { words_[device / 64] |= std::uint64_t{1} << (device % 64); }
  // Visits all and empties the set. `visit` must not change the set.
  template <class Visit>
  [[gnu::always_inline]] void drain(const Visit& visit) {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      std::uint64_t bits = words_[w];
      words_[w] = 0;
      for (; bits != 0; bits &= bits - 1) {
        visit(
            static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
      }
    }
  }

 private:
  std::vector<std::uint64_t> words_;
};

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

// Holds the state that both run loops keep while they simulate a run.
struct RunState {
  explicit RunState(const cost::Problem& problem);

  // Starts a run: every node waits for its inputs and every queue is empty.
  void reset(const RunInput& input, schedule::Choice choice);

  // Returns the queues of the choice rule, which have put(device, node, state), empty(device) and,
  // where something is ready on the device, take(device, rng).
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
  // Records that a node starts, for RunView.
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
  // By device: the time of nodes not yet started, made smaller like StartState::tail.
  std::vector<double> work_left;
  RankedQueues ranked;  // of these three only the one for the run's choice rule is in use
  HeapQueues fifo;
  RandomQueues random;
  std::vector<std::uint32_t> running;  // node per device, or kNoNode
  DeviceSet touched;                   // devices that may start something now
};

// Return the keys of JitterTable::factor. A node and a transfer never have the same one.
inline std::uint64_t node_key(std::uint32_t node) {
  return node;
}
inline std::uint64_t transfer_key(std::uint32_t tensor, std::uint32_t to) {
  return (std::uint64_t{tensor} + 1) << 32 | to;
}

}  // namespace doppler::sim
