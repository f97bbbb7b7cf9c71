#include "support/graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "doppler/base/rng.h"

namespace doppler::test {

graph::Graph simple_graph(const std::vector<TestNode>& nodes, const std::vector<TestEdge>& edges,
                          double transfer_time) {
  graph::GraphBuilder builder;
  std::map<std::string, NodeId> node_of;
  std::map<std::string, TensorId> tensor_of;
  for (const TestNode& node : nodes) {
    const NodeId id = builder.add_node({.name = node.name, .time = node.time});
    node_of[node.name] = id;
    tensor_of[node.name] = builder.add_output(id, std::nullopt, transfer_time);
  }
  for (const TestEdge& edge : edges) builder.connect(tensor_of.at(edge.from), node_of.at(edge.to));
  return std::move(builder).build();
}

device::Topology uniform_topology(std::size_t devices) {
  device::TopologySpec spec;
  spec.name = fmt::format("uniform:{}", devices);
  spec.kinds.push_back({.name = "uniform"});
  for (std::size_t d = 0; d < devices; ++d) spec.devices.push_back({.name = fmt::format("d{}", d)});
  spec.pairwise_links = device::Channel{.name = "link"};
  spec.given_costs_by_default = true;
  return device::Topology(std::move(spec));
}

std::shared_ptr<const cost::Problem> uniform_problem(graph::Graph graph, std::size_t devices,
                                                     cost::LinkMode links) {
  return std::make_shared<cost::Problem>(
      std::make_shared<graph::Graph>(std::move(graph)),
      std::make_shared<device::Topology>(uniform_topology(devices)),
      cost::ProblemOptions{.links = links});
}

graph::Graph random_graph(const RandomGraphOptions& options, std::uint64_t seed) {
  Rng rng = Rng::stream(seed, 0x9a71);
  graph::GraphBuilder builder;
  std::vector<std::vector<TensorId>> outputs(options.nodes);
  const auto cost = [&](double scale) {
    if (options.zero_costs && rng.chance(0.3)) return 0.0;
    return scale * rng.uniform(0.5, 1.5);
  };
  for (std::size_t v = 0; v < options.nodes; ++v) {
    const NodeId node = builder.add_node({.name = fmt::format("n{}", v), .time = cost(1.0)});
    const int count = options.several_outputs && rng.chance(0.3) ? 2 : 1;
    for (int i = 0; i < count; ++i) {
      outputs[v].push_back(builder.add_tensor(
          {.name = fmt::format("t{}.{}", v, i),
           .producer = node,
           .bytes = options.bytes ? std::optional<double>(1.0 + rng.below(100)) : std::nullopt,
           .transfer_time = cost(1.0)}));
    }
    for (std::size_t u = v > 12 ? v - 12 : 0; u < v; ++u) {
      if (!rng.chance(options.edge_probability)) continue;
      builder.connect(outputs[u][rng.below(static_cast<std::uint32_t>(outputs[u].size()))], node);
    }
  }
  return std::move(builder).build();
}

}  // namespace doppler::test
