// The moves of a search, and the chain of nodes that tells it where to move.
#pragma once

#include <cstdint>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"
#include "doppler/sim/simulator.h"

namespace doppler::place {

struct BlockingNode {
  std::uint32_t node;
  bool waited;  // the node was ready, but its device was busy with the next entry of the chain
};

// Replaces `chain` by the nodes that held each other up, from the node that ends last back to one
// that waited for nothing: each entry is followed by the node that ran on its device until it could
// start or, where it did not wait for its device, by the producer of its last input.
//
// Cheap to find, so that a search can have it of every run that it accepts. It knows nodes only: a
// transfer that waits for a busy channel is put down to its producer, not to the transfers that
// hold the channel. What a run's time went to, channels included, is schedule::critical_chain().
void find_blocking_chain(const sim::RunView& run, std::vector<BlockingNode>& chain);

// Random moves from one placement to a near one, applied in place.
//
// Most moves change a node of the blocking chain: while these nodes stay where they are and in
// their order, a run with free links cannot become shorter. Whole groups move together where moving
// one of them alone would only add transfers: the inputs of one consumer, a stretch of the chain, a
// sharded operation, everything after a point in time. Some moves take work off the device or the
// channel that has most of it, since transfers that hold a channel are not on the chain. Every move
// keeps the constraints.
//
// Not thread safe: one per thread.
class Neighborhood {
 public:
  enum class Style {
    kGuided,  // all moves, most of them along the blocking chain
    kPlain,   // any node, a pair, a node and its neighbours; no priorities: textbook annealing
  };

  // `problem` must outlive this object.
  explicit Neighborhood(const cost::Problem& problem, Style style = Style::kGuided);

  // Takes note of a run of the placement that the next moves start from.
  void look_at(const sim::RunView& run);

  // Applies a random move. Returns false where the move turned out to change nothing.
  bool move(schedule::Placement& placement, Rng& rng);
  // Takes the last move back. REQUIRES: `placement` is as move() left it.
  void undo(schedule::Placement& placement) const;

 private:
  struct DeviceChange {
    std::uint32_t node;
    DeviceId before;
  };
  struct PriorityChange {
    std::uint32_t node;
    double before;
  };

  void relocate_unit(schedule::Placement& placement, std::uint32_t node, DeviceId device);
  void set_priority(schedule::Placement& placement, std::uint32_t node, double priority);
  std::uint32_t any_node(Rng& rng) const;
  std::uint32_t blocking_node(Rng& rng) const;
  DeviceId other_device(std::uint32_t node, DeviceId current, Rng& rng) const;
  DeviceId near_device(const schedule::Placement& placement, std::uint32_t node, Rng& rng) const;

  void move_one(schedule::Placement&, Rng&, bool on_chain);
  void swap_two(schedule::Placement&, Rng&);
  void move_with_neighbors(schedule::Placement&, Rng&);
  void move_siblings(schedule::Placement&, Rng&);
  void move_chain(schedule::Placement&, Rng&);
  void exchange_devices_later(schedule::Placement&, Rng&);
  void move_meta_op(schedule::Placement&, Rng&);
  void relieve_bottleneck(schedule::Placement&, Rng&);
  void relieve_device(schedule::Placement&, Rng&, DeviceId device);
  void relieve_channel(schedule::Placement&, Rng&, ChannelId channel);
  void promote_waiting(schedule::Placement&, Rng&);
  void shift_priority(schedule::Placement&, Rng&);

  const cost::Problem& problem_;
  Style style_;
  std::vector<BlockingNode> chain_;
  std::vector<std::uint32_t> waiting_;  // positions in chain_ of nodes that waited for their device
  std::vector<double> start_;
  std::vector<double> device_load_, channel_load_;  // scratch of relieve_bottleneck
  std::vector<DeviceChange> devices_;               // what undo() takes back
  std::vector<PriorityChange> priorities_;          // likewise
  std::vector<std::vector<std::uint32_t>> meta_members_;
};

}  // namespace doppler::place
