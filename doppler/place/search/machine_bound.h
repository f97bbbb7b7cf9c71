// The bound of one machine: a set of jobs, each with a head (earliest start), a time and a tail
// (least time from its end to the end of the run), cannot be done before max over subsets of (least
// head + sum of times + least tail). Carlier, "The one-machine sequencing problem", 1982.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

namespace doppler::place {

struct MachineJob {
  double head;
  double time;
  double tail;
};

// Sorts `jobs`. Quadratic, for the few jobs of a small problem. Zero where there are none.
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

}  // namespace doppler::place
