// One node's part of a simulated run, in two records by who needs them: large graphs are bound by
// memory, and deliveries touch nodes all over the graph.
#pragma once

#include <cstdint>
#include <span>

namespace doppler::sim {

// No node: the cause of a node that waited for nothing, the one before the first on a device.
inline constexpr std::uint32_t kNoNode = 0xffffffffu;

// What the delivery of an input touches, half a cache line.
struct alignas(32) NodeState {
  double ready;           // when the last of its inputs so far arrives
  std::uint32_t missing;  // inputs not yet accounted for
  std::uint32_t cause;    // producer of the input that arrives last, or kNoNode
  std::uint32_t device;   // in the placement under test
  std::uint32_t rank;     // by priority, the highest first, ties to the lower id
  double duration;        // on its device, before jitter
};
static_assert(sizeof(NodeState) == 32);

// What its start touches as well.
struct StartState {
  double start;
  // A lower bound on the time from its start to the end of any run: the longest path in least
  // compute times, a hair smaller so that rounding never cuts off a run that would have been in
  // time.
  double tail;
  std::uint32_t previous;  // node before it on its device, or kNoNode
};

// Why nodes started when they did; by node.
struct RunView {
  std::span<const NodeState> nodes;
  std::span<const StartState> starts;
};

}  // namespace doppler::sim
