// The queue of nodes and transfers that are ready, which decides what starts next in a
// work-conserving run (docs/semantics.md). It knows neither clocks nor threads: it is told when
// nodes and transfers end and is asked what starts, so that the same code decides in every engine.
// Not thread safe: threads that share a queue take turns.
//
// A device takes the best of its ready nodes. A transfer starts once a unit of every channel of its
// route is free. Starts for which memory is short wait (admission.h). In synchronous runs nothing
// of a level starts before everything of the levels before it has ended, and nodes of a level start
// after all transfers of it have ended.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/cost/problem.h"
#include "doppler/exec/admission.h"
#include "doppler/exec/transfer_plan.h"
#include "doppler/schedule/timeline.h"

namespace doppler::exec {

class DispatchQueue {
 public:
  struct Rules {
    schedule::Choice choice = schedule::Choice::kPriority;
    schedule::Mode mode = schedule::Mode::kWorkConserving;
  };

  // All arguments must outlive the queue. Without `order` memory is not limited. Throws
  // ParameterError for synchronous runs with free links, whose transfers have no levels.
  DispatchQueue(const cost::Problem& problem, const schedule::Placement& placement,
                const TransferPlan& plan, Rules rules, const StartOrder* order = nullptr);

  const Rules& rules() const { return rules_; }

  // Starts a run, in which nodes that wait for nothing are ready. Forgets the last run, finished or
  // not. `seed` decides random choices.
  void begin(std::uint64_t seed);

  // Notes that a node or transfer has ended at the time `now`, which matters to kFifo only.
  void node_ended(NodeId node, double now);
  void transfer_ended(TransferIndex transfer, double now);

  // Starts the node that the device is to run now and returns it; invalid if none is ready or fits
  // into memory. REQUIRES: the device is idle.
  NodeId start_node(DeviceId device);
  // Starts the best transfer whose route is free and returns it; nothing if there is none.
  std::optional<TransferIndex> start_transfer();

  // Returns how many nodes and transfers have not ended; 0 when the run is over.
  std::size_t left() const { return left_; }
  bool has_waiting_transfers() const { return !busy_lanes_.empty(); }
  // Returns whether the route of a waiting transfer is free; memory may still be short.
  bool may_start_transfer() const;
  bool is_ready(DeviceId device) const { return !ready_[device.index()].empty(); }

  // Returns the devices that may have become able to start a node since forget_touched() was last
  // called, each once.
  std::span<const DeviceId> touched() const { return touched_; }
  void forget_touched();
  // Returns the copies whose last use has ended since forget_released() was last called.
  std::span<const CopyIndex> released() const { return released_; }
  void forget_released() { released_.clear(); }

 private:
  struct Entry {
    double key;  // larger goes first
    std::uint32_t id;
  };
  // Compares for a heap whose best entry is first. Ties go to the lower id.
  static bool worse(const Entry& a, const Entry& b) {
    return a.key != b.key ? a.key < b.key : a.id > b.id;
  }
  // The transfers that wait to go from one device to another.
  struct Lane {
    std::vector<Entry> waiting = {};
    std::span<const ChannelId> route = {};
  };

  void find_levels();
  // Goes on to the next phase of a synchronous run that has anything in it.
  void next_phase(double now);
  void make_ready(NodeId node, double now);
  void make_startable(TransferIndex transfer, double now);
  void item_ended(double now);
  void arrive(NodeId node, double now);
  void publish(TensorId tensor, double now);
  void use_ended(CopyIndex copy);
  void touch(DeviceId device);
  void put(std::vector<Entry>& queue, Entry entry) const;
  // Returns the position of the best entry that `fits`, or of a random one in random runs.
  template <class Fits>
  std::optional<std::size_t> best(const std::vector<Entry>& queue, const Fits& fits);
  std::uint32_t remove(std::vector<Entry>& queue, std::size_t position) const;
  bool route_is_free(const Lane& lane) const;

  const cost::Problem& problem_;
  const schedule::Placement& placement_;
  const TransferPlan& plan_;
  Rules rules_;
  std::optional<Admission> admission_;
  Rng rng_{0};

  std::vector<std::uint32_t> missing_;        // by node: tensors that it still waits for
  std::vector<std::uint32_t> uses_left_;      // by copy
  std::vector<std::vector<Entry>> ready_;     // by device: nodes
  std::vector<Lane> lanes_;                   // those that have transfers
  std::vector<std::uint32_t> lane_of_;        // by transfer
  std::vector<std::uint32_t> transfer_rank_;  // by transfer: order of ties
  std::vector<std::uint32_t> busy_lanes_;     // lanes with something waiting
  std::vector<std::uint8_t> lane_is_busy_;
  std::vector<std::uint32_t> channel_use_;  // by channel: units that transfers hold
  std::vector<TransferIndex> by_rank_;      // the inverse of transfer_rank_
  std::vector<std::size_t> fitting_;        // scratch of best()
  std::vector<DeviceId> touched_;
  std::vector<std::uint8_t> is_touched_;
  std::vector<CopyIndex> released_;
  std::size_t left_ = 0;

  // Synchronous runs: phase 2l moves what level l needs and the new parameter values that the level
  // before it made, phase 2l + 1 runs its nodes. One more phase moves the last new values.
  Csr<NodeId> level_nodes_;
  Csr<TransferIndex> level_transfers_;
  std::size_t phase_ = 0;       // the next phase
  std::size_t phase_left_ = 0;  // nodes or transfers of the current phase that have not ended
};

}  // namespace doppler::exec
