// Lower bounds on the makespan of any placement. A result is optimal only where it meets one.
#pragma once

#include <string>
#include <vector>

#include "doppler/cost/problem.h"

namespace doppler::schedule {

struct Bound {
  std::string name;    // "load", "chain", …
  double value = 0.0;  // in the problem's time unit
};

// Returns the least total work divided among the devices. On devices of several kinds it is a bound
// on the best fractional assignment (bounds.cc has the proof).
Bound load_bound(const cost::Problem& problem);

// Returns the longest path, with every node on its fastest allowed device and without transfers.
Bound chain_bound(const cost::Problem& problem);

// Returns the largest of all known bounds.
Bound best_bound(const cost::Problem& problem);

// Returns whether `makespan` meets `bound` within rounding.
bool meets(double makespan, const Bound& bound);

}  // namespace doppler::schedule
