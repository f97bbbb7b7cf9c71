// The nodes on the chain of causes that ends with the makespan, for searches that want to know
// where a change can help.
#pragma once

#include <cstdint>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"
#include "doppler/sim/ready_queues.h"

namespace doppler::place {

struct CriticalNode {
  std::uint32_t node;
  bool waited;  // it was ready but its device ran something else, the next entry
};

// From the last node to end back to one that waited for nothing. Replaces `chain`.
void critical_nodes(const sim::RunView& run, std::vector<CriticalNode>& chain);

// Moves from one placement to a near one. A move is applied in place and can be taken back.
//
// Most follow the critical chain: nothing else can shorten the run. Whole groups move together
// where moving one of them alone would only add transfers: the inputs of one consumer, a stretch of
// the chain, a sharded operation, everything after a point in time. Some take work off the device
// or channel that has most of it. Constraints are kept by every move.

class Neighborhood {
 public:
  enum class Style {
    kGuided,  // all moves, most of them along the critical chain
    kPlain,   // any node, a pair, a node and its neighbours; no priorities: textbook annealing
  };

  // `problem` must outlive it.
  explicit Neighborhood(const cost::Problem& problem, Style style = Style::kGuided);

  // Tells about a run of the placement that moves will start from.
  void look_at(const sim::RunView& run);

  // Changes the placement; false where the move tried turned out to change nothing.
  bool move(schedule::Placement& placement, Rng& rng);
  // Takes the last move back.
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
  std::uint32_t critical_node(Rng& rng) const;
  DeviceId other_device(std::uint32_t node, DeviceId current, Rng& rng) const;
  DeviceId near_device(const schedule::Placement& placement, std::uint32_t node, Rng& rng) const;

  void move_one(schedule::Placement&, Rng&, bool critical);
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
  std::vector<CriticalNode> chain_;
  std::vector<std::uint32_t> waiting_;  // positions in chain_ of nodes that waited for their device
  std::vector<double> start_;
  std::vector<double> device_load_, channel_load_;  // of relieve_bottleneck
  std::vector<DeviceChange> devices_;
  std::vector<PriorityChange> priorities_;
  std::vector<std::vector<std::uint32_t>> meta_members_;
};

}  // namespace doppler::place
