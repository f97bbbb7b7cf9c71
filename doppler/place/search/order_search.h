// Finds the best order for a fixed assignment by a depth-first search over the choices of
// work-conserving runs (docs/semantics.md). It is exact over all priorities.
//
// A run is followed until a device has several ready nodes, or several waiting transfers contend
// for a channel; the search branches on which of them is best there. With free links every sequence
// of choices has priorities that lead to it (minus the order of starts). With channels a node's
// priority decides both on its device and among the transfers of its inputs, so choices have to
// agree with each other (priority_rules.h).
//
// It serves problems of up to 64 nodes. Not thread safe. Nothing is allocated once the buffers have
// grown.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/place/search/assignment_bounds.h"
#include "doppler/place/search/priority_rules.h"
#include "doppler/place/search/scorer.h"

namespace doppler::place {

class OrderSearch {
 public:
  // Called with the makespan and the priorities of every run shorter than the limit, shorter ones
  // last. Returns the new limit: the makespan where the run is accepted, the old limit where it is
  // not.
  using Found = std::function<double(double makespan, const std::vector<double>& priority)>;

  // `problem` and `budget` must outlive this object.
  OrderSearch(const cost::Problem& problem, SearchBudget& budget);

  // Visits every run under the assignment that may be shorter than `limit`. Returns the least lower
  // bound of the runs that the budget left unvisited, infinity where none was left.
  double run(std::span<const DeviceId> device, double limit, const Found& found);

 private:
  struct Job {  // a transfer with channel links: one tensor to one device
    TensorId tensor;
    std::uint32_t from;
    std::uint32_t to;
    double duration;
    NodeSet consumers;  // none where it only delivers an update
  };
  enum class JobState : std::uint8_t { kNotReady, kWaiting, kMoving, kThere };
  enum class Phase : std::uint8_t { kEvents, kTransfers, kNodes, kEnded };

  // The state of a run up to the time `now`. `phase` and what follows it say at which step of that
  // moment it stopped for a choice.
  struct Run {
    double now;
    double makespan;
    Phase phase;
    std::uint32_t next_device;           // in kNodes: the first that has not had its turn
    bool zero_started;                   // something that ends at once has started in this phase
    std::uint32_t started;               // nodes
    NodeSet pending;                     // free links: all inputs on their way, not all there
    std::vector<NodeSet> ready;          // by device
    std::vector<std::uint32_t> running;  // by device: a node or kNone
    std::vector<double> end;             // by node; infinite before it starts
    std::vector<double> ready_at;        // by node: latest arrival so far
    std::vector<std::uint32_t> missing;  // by node: inputs not accounted for
    std::vector<std::uint32_t> start_number;  // by node: how many started before it
    std::vector<JobState> job_state;
    std::vector<double> job_end;              // infinite before it starts
    std::vector<std::uint32_t> channel_free;  // units
  };

  void prepare(std::span<const DeviceId> device);
  void add_jobs(TensorId tensor, std::uint32_t from, std::vector<std::uint32_t>& jobs);
  void reset(Run& run);

  // Follows the run to its next choice (options_ is filled) or to its end.
  void advance(Run& run);
  void apply_events(Run& run);
  void end_node(Run& run, std::uint32_t node);
  void end_job(Run& run, std::uint32_t job);
  void arrive(Run& run, std::uint32_t node, double time);
  void start_node(Run& run, std::uint32_t node);
  void start_job(Run& run, std::uint32_t job);
  // These two return false where they stopped for a choice.
  bool start_transfers(Run& run);
  bool start_nodes(Run& run);
  void next_moment(Run& run) const;
  bool can_start(const Run& run, const Job& job) const;
  std::span<const ChannelId> route(const Job& job) const {
    return problem_.route(DeviceId(job.from), DeviceId(job.to));
  }

  double bound(const Run& run);
  double urgency(std::uint32_t option, bool is_job) const;
  void add_rules(std::span<const std::uint32_t> options, std::uint32_t winner, bool are_jobs);
  void branch(std::size_t depth, const Found& found);

  static constexpr std::uint32_t kNone = 0xffffffffu;

  const cost::Problem& problem_;
  SearchBudget& budget_;
  const std::size_t nodes_, devices_;
  const bool channels_;

  // These describe the current assignment.
  std::vector<std::uint32_t> device_;    // by node
  std::vector<double> time_;             // by node
  std::vector<double> tail_;             // by node: least time from its end to the end of the run
  std::vector<double> delivery_;         // by node, free links: longest transfer of an update
  std::vector<double> edge_time_;        // by edge: of its transfer, 0 inside a device
  std::vector<std::uint32_t> edge_job_;  // by edge, or kNone
  std::vector<Job> jobs_;
  std::vector<std::vector<std::uint32_t>> jobs_of_node_;
  std::vector<std::uint32_t> jobs_from_homes_;

  double limit_ = 0.0;
  double left_ = 0.0;  // least bound of what was not visited
  PriorityRules rules_;
  std::deque<Run> runs_;                            // by depth
  std::deque<std::vector<std::uint32_t>> choices_;  // by depth
  std::vector<std::uint32_t> options_;              // of the last advance(): nodes or jobs
  bool options_are_jobs_ = false;
  // Buffers of the search, kept so that nothing is allocated.
  std::vector<double> head_, priority_;
  std::vector<MachineJob> machine_;
  std::vector<std::uint32_t> startable_, wanted_;
};

}  // namespace doppler::place
