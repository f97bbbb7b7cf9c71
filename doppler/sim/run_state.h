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
#include "doppler/sim/device_set.h"
#include "doppler/sim/jitter.h"
#include "doppler/sim/node_state.h"
#include "doppler/sim/ready_queues.h"

namespace doppler::sim {

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
