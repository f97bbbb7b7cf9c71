// The best makespan over all placements and orders of a tiny problem, by trying them all.
#pragma once

#include "doppler/cost/problem.h"

namespace doppler::test {

// Exact over placements x priorities under work-conserving execution. Identical devices are tried
// in one numbering only. Meant for up to 6 nodes on 3 devices: the number of runs is devices^nodes
// x nodes!.
double brute_force_makespan(const cost::Problem& problem);

}  // namespace doppler::test
