// Short ways to write small graphs and problems in tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/graph/builder.h"
#include "doppler/graph/graph.h"
#include "doppler/schedule/placement.h"

namespace doppler::test {

inline constexpr cost::LinkMode kLinkModes[] = {cost::LinkMode::kFree, cost::LinkMode::kChannel};

struct TestNode {
  std::string name;
  double time;
};
struct TestEdge {
  std::string from;
  std::string to;
};

// Every node has one output tensor (even where nobody reads it) with this transfer time.
graph::Graph simple_graph(const std::vector<TestNode>& nodes, const std::vector<TestEdge>& edges,
                          double transfer_time);

// `devices` identical devices d0, d1, …, costs as given in the graph: what `uniform:N` means.
device::Topology uniform_topology(std::size_t devices);

std::shared_ptr<const cost::Problem> uniform_problem(graph::Graph graph, std::size_t devices,
                                                     cost::LinkMode links);
std::shared_ptr<const cost::Problem> make_problem(graph::Graph graph, device::TopologySpec topology,
                                                  cost::ProblemOptions options = {});

// Nodes by name on devices by name, with b-levels as priorities.
schedule::Placement place(const cost::Problem& problem,
                          const std::vector<std::pair<std::string, std::string>>& assignment);
// The same with priorities that fall along `order`, which names every node once.
schedule::Placement place(const cost::Problem& problem,
                          const std::vector<std::pair<std::string, std::string>>& assignment,
                          const std::vector<std::string>& order);

// The tensor of this name; invalid, and a failed expectation, if there is none.
TensorId find_tensor(const graph::Graph& graph, std::string_view name);

// A random layered graph with integer-like or continuous costs, for property tests.
struct RandomGraphOptions {
  std::size_t nodes = 12;
  double edge_probability = 0.3;
  bool zero_costs = false;       // some nodes and transfers take no time
  bool several_outputs = false;  // some nodes write two tensors
  bool bytes = true;             // tensors have bytes (and given transfer times)
  bool integer_costs = false;    // costs 1, 2, 3: many events at one time
  bool consumer_times = false;   // some transfer times differ by consumer
  bool kinds = false;            // some nodes have a time of their own for kind "slow"
  // Inputs and parameters, some with a home on one of d0, d1, … (this many), and updates of some
  // parameters. 0: none.
  std::size_t homes = 0;
};
graph::Graph random_graph(const RandomGraphOptions& options, std::uint64_t seed);

}  // namespace doppler::test
