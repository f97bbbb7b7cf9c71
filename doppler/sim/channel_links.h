// The run loop for channel links: a transfer holds one unit of every channel on its route for its
// whole duration, and waits until all of them are free.
//
// Transfers between the same two devices share a route: a lane. Those that cannot start at once
// wait together in it, and the lane waits in the queue of one channel on its route that is full.
// Only when a unit of that channel is released can a transfer of the lane start, so only then is
// the lane looked at again.
//
// Internal to sim/. Not thread safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "doppler/sim/event_queue.h"
#include "doppler/sim/run_state.h"

namespace doppler::sim {

class ChannelLinks {
 public:
  explicit ChannelLinks(RunState& state);

  // Simulates a run and returns its makespan, or infinity where that is the cut-off or more.
  double run(const RunInput& input, schedule::Choice choice);

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  // A tensor that has a producer or a home, and is read by a node or updates a parameter.
  struct Output {
    double amount;  // as in cost::Problem::tensor_amount
    std::uint32_t tensor;
    std::uint32_t first_edge, edge_count;
    bool by_bytes;
    bool has_update_readers;
  };

  // The transfer of one tensor to one device. The smaller key goes first: the rank of its best
  // consumer's priority, or when it became ready, in the upper half, and the tensor in the lower
  // one. Equal keys go to different devices, the lower one first.
  struct Job {
    std::uint64_t key;
    double duration;
    std::uint32_t number;  // in the order of their making
    std::uint32_t lane;
    std::uint32_t to;
    std::uint32_t first_edge;  // its consumers on `to`, chained through next_edge_
    std::uint32_t producer;    // or kNoNode
  };
  static constexpr std::uint64_t kLast = std::uint64_t{0xffffffffu} << 32;

  struct Waiting {
    std::uint64_t key;
    std::uint32_t job;
    // For std::push_heap and the like, which put the largest in front.
    friend bool operator<(const Waiting& a, const Waiting& b) { return a.key > b.key; }
  };

  // The transfers that wait to go from one device to another.
  struct Lane {
    std::vector<Waiting> jobs;  // a heap, best first; for the random rule in no order
    std::span<const ChannelId> route;
    cost::Link link = {};
    std::uint32_t from = 0, to = 0;
    std::uint32_t channel = kNone;  // whose queue it waits in, or kNone
    std::uint32_t position = 0;     // in that queue
    bool waited = false;            // in this run
  };

  struct Channel {
    std::uint32_t in_use = 0;  // units
    std::uint32_t capacity = 1;
    std::uint32_t queue = kNone;  // index into queues_, made when first needed
    bool freed = false;           // in freed_
  };

  template <schedule::Choice kChoice>
  double run_with(const RunInput& input);
  template <schedule::Choice kChoice, bool kJitter, bool kRecord>
  double loop(const RunInput& input);
  // Takes note that a tensor is complete on a device: tells its consumers there and makes jobs for
  // the others.
  template <schedule::Choice kChoice, bool kJitter, class Ready>
  void publish(const Output& output, std::uint32_t from, std::uint32_t producer,
               const RunInput& input, Ready& ready);
  template <class Ready>
  void arrive(std::uint32_t consumer, NodeState& node, std::uint32_t producer, Ready& ready);
  Output output_of(TensorId tensor) const;
  std::uint32_t new_job(std::uint32_t to, std::uint64_t key, std::uint32_t producer);
  std::uint32_t job_to(std::uint32_t to, std::uint64_t key, std::uint32_t producer);
  void add_to_lane(std::uint32_t job);
  // Lets the job wait in its lane, of which a channel is full.
  void wait(std::uint32_t job, std::uint32_t channel);
  void start_best_first(const RunInput& input);
  void start_in_random_order(const RunInput& input, Rng& rng);
  // Starts the transfer, if the whole route of its lane is free, and returns kNone; else returns a
  // channel that is full.
  std::uint32_t start(std::uint32_t job, const Lane& lane, const RunInput& input);
  std::uint32_t full_channel_on(const Lane& lane) const;
  void finish(const Lane& lane);
  std::uint32_t new_lane(std::uint32_t from, std::uint32_t to);
  std::vector<std::uint32_t>& queue_of(Channel& channel);
  void forget_last_run();

  bool job_before(const Job& a, const Job& b) const {
    return a.key < b.key || (a.key == b.key && a.to < b.to);
  }
  const Job& best_of(std::uint32_t lane) const { return jobs_[lanes_[lane].jobs.front().job]; }
  bool lane_before(std::uint32_t a, std::uint32_t b) const {
    return job_before(best_of(a), best_of(b));
  }
  // These keep the queue of a channel: a heap of lanes, best first, which know their positions in
  // it.
  void wait_at(std::uint32_t channel, std::uint32_t lane);
  void leave_queue(std::uint32_t lane);
  void sift_up(std::vector<std::uint32_t>& queue, std::size_t at);
  void sift_down(std::vector<std::uint32_t>& queue, std::size_t at);

  RunState& state_;
  std::size_t device_count_;
  double now_ = 0.0;
  std::uint32_t instant_ = 0;  // how often time has advanced
  // Ids below node count: nodes; above: transfers in the order of their making, shifted by it,
  // with the job as slot.
  EventQueue events_;

  std::vector<std::uint32_t> first_output_;  // by node: where its outputs begin
  std::vector<Output> outputs_;
  std::vector<Output> homed_;

  std::vector<Job> jobs_;  // those that are under way or free, few enough to stay in caches
  std::vector<std::uint32_t> free_jobs_;
  std::uint32_t used_jobs_ = 0;  // the first ones of jobs_
  std::uint32_t jobs_made_ = 0;
  std::vector<std::uint32_t> made_;           // jobs of the tensor that is being published
  std::vector<std::uint32_t> next_edge_;      // by edge: next in the same job
  std::vector<std::uint32_t> job_of_device_;  // by device, valid where its round is current
  std::vector<std::uint32_t> job_round_;
  std::uint32_t round_ = 0;

  std::vector<Lane> lanes_;                // made when first used
  std::vector<std::uint32_t> lane_index_;  // by from x devices + to: index of its lane, or kNone
  std::vector<std::uint32_t> fresh_jobs_;  // made at this instant, in no lane yet
  std::vector<Channel> channels_;
  std::vector<std::vector<std::uint32_t>> queues_;
  std::vector<std::uint32_t> freed_;  // channels that others wait for, with a unit just released
  std::vector<std::uint32_t> waited_lanes_;  // in this run
  std::vector<std::uint32_t> drawn_lanes_;   // candidates of the random rule
};

}  // namespace doppler::sim
