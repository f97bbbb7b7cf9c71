// The run loop for channel links: a transfer holds one unit of every channel on its route for its
// whole duration, and waits until all of them are free.
//
// Transfers between the same two devices share a route, so they wait together in a lane. A lane
// whose route is not free waits in the queue of one channel that is full. Only when a unit of that
// channel is released can a transfer of the lane start, so only then is the lane looked at again.
//
// Internal to sim/. Not thread safe.
#pragma once

#include <cstdint>
#include <vector>

#include "doppler/sim/heap.h"
#include "doppler/sim/run_state.h"

namespace doppler::sim {

class ChannelLinks {
 public:
  explicit ChannelLinks(RunState& state);

  // Simulates a run and returns its makespan, or infinity where that is the cut-off or more.
  double run(const RunInput& input, schedule::Choice choice);

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  // The transfer of one tensor to one device.
  struct Job {
    double key;  // larger goes first; ties by tensor, then destination
    double duration;
    TensorId tensor;
    std::uint32_t from, to;
    std::uint32_t first_edge;  // its consumers on `to`, chained through next_edge_
  };

  // The transfers that wait to go from one device to another.
  struct Lane {
    std::vector<std::uint32_t> jobs;  // a heap, best first; for the random rule in no order
    std::uint32_t channel = kNone;    // whose queue it waits in, or kNone
    std::uint32_t position = 0;       // in that queue
    bool fresh = false;               // in fresh_lanes_
    bool used = false;                // in used_lanes_
  };

  struct Channel {
    std::uint32_t in_use = 0;     // units
    std::uint32_t queue = kNone;  // index into queues_, made when first needed
    bool freed = false;           // in freed_
    bool used = false;            // in used_channels_
  };

  template <schedule::Choice kChoice>
  double run_with(const RunInput& input);
  template <schedule::Choice kChoice, bool kJitter, bool kRecord>
  double loop(const RunInput& input);
  // Takes note that a tensor is complete on a device: tells its consumers there and makes jobs for
  // the others.
  template <schedule::Choice kChoice, bool kJitter>
  void publish(TensorId tensor, std::uint32_t from, std::uint32_t producer, const RunInput& input);
  template <schedule::Choice kChoice>
  void arrive(std::uint32_t consumer, std::uint32_t producer, const RunInput& input);
  std::uint32_t job_to(TensorId tensor, std::uint32_t from, std::uint32_t to);
  // Puts a new job into its lane.
  template <schedule::Choice kChoice>
  void enqueue(std::uint32_t job);

  void start_best_first(const RunInput& input);
  void start_in_random_order(const RunInput& input, Rng& rng);
  void start(std::uint32_t job, const RunInput& input);
  void finish(const Job& job);
  bool full(std::uint32_t channel) const {
    return channels_[channel].in_use >= state_.problem.channel_capacity(ChannelId(channel));
  }
  std::uint32_t full_channel_on(const Job& job) const;
  std::uint32_t lane_of(const Job& job);
  std::vector<std::uint32_t>& queue_of(std::uint32_t channel);
  void forget_last_run();

  bool job_before(std::uint32_t a, std::uint32_t b) const;
  bool lane_before(std::uint32_t a, std::uint32_t b) const {
    return job_before(lanes_[a].jobs.front(), lanes_[b].jobs.front());
  }
  // These keep the queue of a channel: a heap of lanes, best first, which know their positions in
  // it.
  void wait_at(std::uint32_t channel, std::uint32_t lane);
  void leave_queue(std::uint32_t lane);
  void sift_up(std::vector<std::uint32_t>& queue, std::size_t at);
  void sift_down(std::vector<std::uint32_t>& queue, std::size_t at);

  void push_event(double time, std::uint32_t id) {
    heap_push<SmallestFirst>(events_.data(), event_count_, {time, id});
  }

  RunState& state_;
  double now_ = 0.0;
  std::vector<HeapItem> events_;  // ids below node count: nodes; above: jobs, shifted by it
  std::uint32_t event_count_ = 0;

  std::vector<Job> jobs_;
  std::uint32_t job_count_ = 0;
  std::vector<std::uint32_t> next_edge_;      // by edge: next in the same job
  std::vector<std::uint32_t> job_of_device_;  // by device, valid where its round is current
  std::vector<std::uint32_t> job_round_;
  std::uint32_t round_ = 0;
  std::vector<std::uint32_t> made_;  // jobs of the tensor that is being published

  std::vector<Lane> lanes_;                 // made when first used
  std::vector<std::uint32_t> lane_index_;   // by from x devices + to: index of its lane, or kNone
  std::vector<std::uint32_t> fresh_lanes_;  // lanes that got a job and wait in no queue
  std::vector<Channel> channels_;
  std::vector<std::vector<std::uint32_t>> queues_;
  std::vector<std::uint32_t> freed_;  // channels with a unit released since the last starts
  std::vector<std::uint32_t> used_channels_, used_lanes_;  // in this run
};

}  // namespace doppler::sim
