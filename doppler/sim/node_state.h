// One node's part of a simulated run.
#pragma once

#include <cstdint>

namespace doppler::sim {

// No node: the cause of a node that waited for nothing.
inline constexpr std::uint32_t kNoNode = 0xffffffffu;

// All that the run loops need of a node, in one cache line: large graphs are bound by memory.
struct alignas(64) NodeState {
  // The run so far.
  double ready;            // when the last of its inputs so far arrives
  double start;            // where it has started
  std::uint32_t missing;   // inputs not yet accounted for
  std::uint32_t cause;     // producer of the input that arrives last, or kNoNode
  std::uint32_t previous;  // node before it on its device, or kNoNode, where it has started

  // The placement.
  std::uint32_t device;
  double duration;     // there, before jitter
  std::uint32_t rank;  // by priority, the highest first, ties to the lower id

  // The problem.
  std::uint32_t inputs;  // that it waits for
  // A lower bound on the time from its start to the end of any run: the longest path in least
  // compute times, a hair smaller so that rounding never cuts off a run that would have been in
  // time.
  double tail;
  std::uint32_t first_edge, end_edge;
};
static_assert(sizeof(NodeState) == 64);

}  // namespace doppler::sim
