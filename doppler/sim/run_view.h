// A simulated run as it is left behind, node by node: why each node started when it did. The two
// records are kept apart by who needs them, since large graphs are bound by memory and deliveries
// touch nodes all over the graph.
#pragma once

#include <cstdint>
#include <span>

namespace doppler::sim {

// Stands for no node: as the cause of a node that waited for nothing, and as the predecessor of the
// first node on a device.
inline constexpr std::uint32_t kNoNode = 0xffffffffu;

// The part of a node's state that the delivery of an input touches: half a cache line.
struct alignas(32) NodeState {
  double ready;           // when the last of its inputs so far arrives
  std::uint32_t missing;  // inputs not yet accounted for
  std::uint32_t cause;    // producer of the input that arrives last, or kNoNode
  std::uint32_t device;   // in the placement under test
  std::uint32_t rank;     // by priority, the highest first, ties to the lower id
  double duration;        // on its device, before jitter
};
static_assert(sizeof(NodeState) == 32);

// The part of a node's state that only its start touches.
struct StartState {
  double start;
  // A lower bound on the time from the node's start to the end of any run: the longest path in
  // least compute times, made smaller by kCutoffMargin so that rounding never cuts off a run that
  // would have been in time.
  double tail;
  std::uint32_t previous;  // node before it on its device, or kNoNode
};

// The states of all nodes, by node.
struct RunView {
  std::span<const NodeState> nodes;
  std::span<const StartState> starts;
};

}  // namespace doppler::sim
