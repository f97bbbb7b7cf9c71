// The memory that a partial placement takes on each device, and whether one more node fits.
//
// The estimate assumes that nodes run one after the other in the order in which they are placed.
// Inputs and parameters count from the start, even before the node that needs them is placed. In a
// real run more may be in use at a time, so what fits here can still fail there.
//
// Not thread safe; one object serves one placement after another without allocating.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "doppler/cost/problem.h"

namespace doppler::policy {

class MemoryEstimate {
 public:
  // `problem` must outlive this object.
  explicit MemoryEstimate(const cost::Problem& problem);

  // Forgets all placed nodes. Call it before anything else.
  void begin();

  // Finds the room that each device would have left with the node on it, and clears `may_take` of
  // devices without room. If no device has room, the one with the most stays. REQUIRES: at least
  // one device may take the node.
  void evaluate(NodeId node, std::span<std::uint8_t> may_take);
  // Returns, by device, the share of its memory that would be left, from -1 (too little by all of
  // it) to 1 (all of it, or memory without limit). Valid until the next evaluate().
  std::span<const double> room_shares() const { return room_share_; }

  // Puts the node on the device. REQUIRES: evaluate() was last called for this node.
  void place(NodeId node, DeviceId device);

 private:
  const cost::Problem& problem_;
  const std::size_t devices_;
  std::vector<double> lasting_bytes_;        // by device: inputs and parameters
  std::vector<double> passing_bytes_;        // by device: intermediate values at present
  std::vector<double> most_passing_bytes_;   // by device: the largest of these so far
  std::vector<double> needed_lasting_;       // by device: what the evaluated node would add
  std::vector<double> needed_passing_;       // by device: what the evaluated node would add
  std::vector<double> room_share_;           // by device
  std::vector<std::uint32_t> readers_left_;  // by tensor: consumers that are not placed
  std::vector<std::uint8_t> has_copy_;       // by tensor and device
};

}  // namespace doppler::policy
