// Lower bounds on the makespan of any placement. A result is optimal only where it meets one.
#pragma once

#include <string>
#include <vector>

#include "doppler/cost/problem.h"

namespace doppler::schedule {

struct Bound {
  std::string name;
  double value = 0.0;
};

// Least total work over the devices. On devices of several kinds: a bound on the fractional
// assignment (see bounds.cc for the proof).
Bound load_bound(const cost::Problem& problem);

// The longest path with the fastest allowed device per node and no transfers.
Bound chain_bound(const cost::Problem& problem);

// The largest of all bounds known.
Bound best_bound(const cost::Problem& problem);

// True where `makespan` meets `bound` within rounding.
bool meets(double makespan, const Bound& bound);

}  // namespace doppler::schedule
