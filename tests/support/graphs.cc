#include "support/graphs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

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

std::shared_ptr<const cost::Problem> make_problem(graph::Graph graph, device::TopologySpec topology,
                                                  cost::ProblemOptions options) {
  return std::make_shared<cost::Problem>(std::make_shared<graph::Graph>(std::move(graph)),
                                         std::make_shared<device::Topology>(std::move(topology)),
                                         std::move(options));
}

schedule::Placement place(const cost::Problem& problem,
                          const std::vector<std::pair<std::string, std::string>>& assignment) {
  std::vector<DeviceId> device(problem.node_count());
  for (const auto& [node, where] : assignment) {
    device[problem.graph().find_node(node).value().index()] =
        problem.topology().find_device(where).value();
  }
  return schedule::with_b_levels(problem, std::move(device));
}

schedule::Placement place(const cost::Problem& problem,
                          const std::vector<std::pair<std::string, std::string>>& assignment,
                          const std::vector<std::string>& order) {
  schedule::Placement placement = place(problem, assignment);
  double priority = 0.0;
  for (const std::string& node : order) {
    placement.priority[problem.graph().find_node(node).value().index()] = priority--;
  }
  return placement;
}

namespace {

// Inputs and parameters for random nodes; some parameters are updated by one of the first nodes.
void add_given_tensors(graph::GraphBuilder& builder, const RandomGraphOptions& options, Rng& rng) {
  const auto nodes = static_cast<std::uint32_t>(options.nodes);
  const std::size_t count = 1 + options.nodes / 3;
  for (std::size_t i = 0; i < count; ++i) {
    const bool parameter = rng.chance(0.5);
    const bool homed = rng.chance(0.6);
    const std::string home =
        homed ? fmt::format("d{}", rng.below(static_cast<std::uint32_t>(options.homes))) : "";
    const TensorId given = builder.add_tensor(
        {.name = fmt::format("g{}", i),
         .role = parameter ? graph::TensorRole::kParameter : graph::TensorRole::kInput,
         .bytes = 1.0 + rng.below(100),
         .transfer_time = rng.uniform(0.5, 1.5),
         .output = rng.chance(0.1),
         .home = home});
    for (int c = 0; c < 3; ++c) builder.connect(given, NodeId(rng.below(nodes)));
    if (!parameter || !rng.chance(0.7)) continue;
    // A node updates one parameter only: two could have different homes.
    const TensorId update = builder.add_tensor({.name = fmt::format("u{}", i),
                                                .producer = NodeId::of(i),
                                                .bytes = 10.0,
                                                .transfer_time = rng.uniform(0.5, 1.5),
                                                .updates = given});
    if (rng.chance(0.5)) builder.connect(update, NodeId(nodes - 1));
  }
}

}  // namespace

TensorId find_tensor(const graph::Graph& graph, std::string_view name) {
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    if (graph.tensor_name(TensorId::of(t)) == name) return TensorId::of(t);
  }
  ADD_FAILURE() << "there is no tensor '" << name << "'";
  return {};
}

graph::Graph random_graph(const RandomGraphOptions& options, std::uint64_t seed) {
  Rng rng = Rng::stream(seed, 0x9a71);
  graph::GraphBuilder builder;
  std::vector<std::vector<TensorId>> outputs(options.nodes);
  const auto cost = [&](double scale) {
    if (options.zero_costs && rng.chance(0.3)) return 0.0;
    if (options.integer_costs) return scale * (1.0 + rng.below(3));
    return scale * rng.uniform(0.5, 1.5);
  };
  for (std::size_t v = 0; v < options.nodes; ++v) {
    graph::NodeSpec spec{.name = fmt::format("n{}", v), .time = cost(1.0)};
    if (options.kinds && rng.chance(0.5)) spec.times_by_kind = {{"slow", cost(2.0)}};
    const NodeId node = builder.add_node(std::move(spec));
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
      const TensorId tensor = outputs[u][rng.below(static_cast<std::uint32_t>(outputs[u].size()))];
      const bool own_time = options.consumer_times && rng.chance(0.3);
      builder.connect(tensor, node, own_time ? std::optional<double>(cost(1.0)) : std::nullopt);
    }
  }
  if (options.homes > 0) add_given_tensors(builder, options, rng);
  return std::move(builder).build();
}

}  // namespace doppler::test
