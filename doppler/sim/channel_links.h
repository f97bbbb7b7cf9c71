// The run loop for channel links: a transfer holds one unit of every channel on its route for its
// whole duration, and waits until all of them are free.
//
// A waiting transfer sits in the queue of one channel that is full. Only when a unit of that
// channel is released can the transfer possibly start, so only then is it looked at again.
#pragma once

#include <cstdint>
#include <vector>

#include "doppler/sim/run_state.h"

namespace doppler::sim {

class ChannelLinks {
 public:
  explicit ChannelLinks(RunState& state);

  // The makespan, or infinity where it is the cut-off or more.
  double run(const RunInput& input, schedule::Choice choice);

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  // The transfer of one tensor to one device.
  struct Job {
    double key;  // larger goes first; ties by tensor, then destination
    double duration;
    TensorId tensor;
    std::uint32_t from, to;
    std::uint32_t first_edge;      // its consumers on `to`, chained through next_edge_
    std::uint32_t child, sibling;  // links of the pairing heap it waits in
  };

  template <schedule::Choice kChoice, bool kJitter, bool kRecord>
  double loop(const RunInput& input);
  // A tensor is complete on a device: tells its consumers there and makes jobs for the others.
  template <schedule::Choice kChoice, bool kJitter>
  void publish(TensorId tensor, std::uint32_t from, std::uint32_t producer, const RunInput& input);
  template <schedule::Choice kChoice>
  void arrive(std::uint32_t consumer, std::uint32_t producer, const RunInput& input);
  std::uint32_t job_to(TensorId tensor, std::uint32_t from, std::uint32_t to);

  void start_transfers_best_first(const RunInput& input);
  void start_transfers_in_random_order(const RunInput& input, Rng& rng);
  // Starts the job if its whole route is free, else queues it at a channel that is full.
  void start_or_queue(std::uint32_t job, const RunInput& input);
  void finish_transfer(std::uint32_t job);
  std::uint32_t full_channel_on(const Job& job) const;

  bool before(std::uint32_t a, std::uint32_t b) const;
  std::uint32_t meld(std::uint32_t a, std::uint32_t b);
  std::uint32_t pop_best(std::uint32_t root);  // returns the new root

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

  std::vector<std::uint32_t> in_use_;   // by channel
  std::vector<std::uint32_t> waiting_;  // by channel: root of its heap, or kNone
  std::vector<std::uint32_t> freed_;    // channels with a unit released since the last starts
  std::vector<std::uint8_t> freed_flag_;
  std::vector<std::uint32_t> fresh_;  // jobs made since the last starts
  std::vector<std::uint32_t> candidates_;
  std::vector<std::uint32_t> stack_;
};

}  // namespace doppler::sim
