// Lower bounds on the makespan for branch and bound on small problems.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "doppler/cost/problem.h"

namespace doppler::place {

// A job of one device or channel. Times are in the problem's unit.
struct MachineJob {
  double head;  // its earliest start
  double time;  // its duration
  double tail;  // the least time from its end to the end of the run
};

// Returns the bound of one machine that does the jobs one after another: the largest value over all
// subsets of (least head + sum of times + least tail). Carlier, "The one-machine sequencing
// problem", 1982. Sorts `jobs`; takes quadratic time, which is fine for the few jobs of a small
// problem. Zero where there are none.
inline double machine_bound(std::span<MachineJob> jobs) {
  std::sort(jobs.begin(), jobs.end(),
            [](const MachineJob& a, const MachineJob& b) { return a.tail > b.tail; });
  double bound = 0.0;
  for (const MachineJob& first : jobs) {
    double sum = 0.0;
    for (const MachineJob& job : jobs) {
      if (job.head < first.head) continue;
      sum += job.time;
      bound = std::max(bound, first.head + sum + job.tail);
    }
  }
  return bound;
}

// Lower bounds on the makespan of all runs whose assignment extends a partial one. A call costs
// about edges x devices^2. Not thread safe.
class AssignmentBounds {
 public:
  // `problem` must outlive this object.
  explicit AssignmentBounds(const cost::Problem& problem);

  // Returns the bound for the assignment `device`, which has an invalid id where a node is not
  // placed yet. May return any value >= limit where the bound is at least `limit`.
  double lower_bound(std::span<const DeviceId> device, double limit);

 private:
  double& head(std::size_t node, std::size_t device) { return head_[node * devices_ + device]; }
  double& tail(std::size_t node, std::size_t device) { return tail_[node * devices_ + device]; }
  std::span<const DeviceId> domain(NodeId node, const DeviceId& fixed) const {
    return fixed.valid() ? std::span<const DeviceId>(&fixed, 1) : problem_.allowed_devices(node);
  }
  void compute_tails(std::span<const DeviceId> device);
  double compute_heads(std::span<const DeviceId> device, double limit);

  const cost::Problem& problem_;
  const std::size_t devices_;
  // By (node, device): the least time from the start of the run to the node's start there, infinite
  // where no run below the limit has it there; and the least time from its end to the end of the
  // run.
  std::vector<double> head_, tail_;
  std::vector<MachineJob> machine_;
};

}  // namespace doppler::place
