// Problems for tests of placement methods.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "doppler/cost/problem.h"

namespace doppler::test {

enum class Network {
  kPairs,    // a link per pair, given transfer times
  kCluster,  // groups of devices behind shared channels, transfers by bytes
};

struct RandomProblemOptions {
  std::size_t nodes = 12;
  std::size_t devices = 3;
  std::size_t kinds = 2;  // of devices, with unrelated times
  Network network = Network::kPairs;
  cost::LinkMode links = cost::LinkMode::kFree;
  double edge_probability = 0.3;
  // Small whole numbers, zero among them, make ties; otherwise costs are continuous.
  bool whole_costs = false;
  bool constraints =
      false;             // pins, forbidden devices, colocated nodes, nodes that a kind cannot run
  bool homes = false;    // inputs that start on one device
  bool updates = false;  // a parameter that the last node overwrites
  bool meta_ops = false;
  double memory_bytes = 0.0;  // per device; 0: unlimited
};
std::shared_ptr<const cost::Problem> random_problem(const RandomProblemOptions& options,
                                                    std::uint64_t seed);

// Every weak order of `count` things, as levels: {0, 0}, {0, 1}, {1, 0} for two.
std::vector<std::vector<double>> weak_orders(std::size_t count);

// The least nominal makespan over all assignments that the constraints allow and all weak orders of
// priorities, of runs that fit in memory; infinity where none does. For a handful of nodes.
double brute_force_optimum(const cost::Problem& problem);

}  // namespace doppler::test
