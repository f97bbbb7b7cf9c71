// Random problems of every kind that the semantics knows, for property tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"
#include "support/graphs.h"

namespace doppler::test {

// Two to five devices d0, d1, … of kinds "fast" and "slow" in one or two groups. Channels: one in
// and one out per device, or one bridge for all devices of a group, a network between groups, an
// explicit route now and then; capacities 1 and 2, latencies that may be 0.
device::TopologySpec random_topology(std::uint64_t seed);

// A random graph on identical devices with given times (free or channel links), or on a
// random_topology with transfers by bytes. Ties, zero costs, homes, updates, several outputs and
// times by consumer come and go with the seed.
std::shared_ptr<const cost::Problem> random_problem(std::size_t nodes, std::uint64_t seed);

// Any allowed device for each node, and priorities that are b-levels, random, or random with many
// ties.
schedule::Placement random_placement(const cost::Problem& problem, std::uint64_t seed);

}  // namespace doppler::test
