#include "support/place_support.h"

#include <fmt/format.h>

#include <algorithm>

#include "doppler/base/rng.h"
#include "doppler/graph/builder.h"
#include "doppler/place/feasible.h"

namespace doppler::test {
namespace {

device::Topology random_topology(const RandomProblemOptions& options, Rng& rng) {
  device::TopologySpec spec;
  spec.name = "test";
  for (std::size_t k = 0; k < options.kinds; ++k)
    spec.kinds.push_back({.name = fmt::format("p{}", k)});
  for (std::size_t d = 0; d < options.devices; ++d) {
    device::Device device{.name = fmt::format("d{}", d),
                          .kind = static_cast<std::uint32_t>(d % options.kinds)};
    if (options.memory_bytes > 0.0) {
      device.memory_bytes = static_cast<std::uint64_t>(options.memory_bytes);
    }
    spec.devices.push_back(device);
  }
  if (options.network == Network::kPairs) {
    spec.pairwise_links = device::Channel{.name = "link"};
    spec.given_costs_by_default = true;
    return device::Topology(std::move(spec));
  }
  const auto add_channel = [&](const std::string& name, double bandwidth) {
    spec.channels.push_back({.name = name,
                             .bandwidth = bandwidth,
                             .latency_seconds = options.whole_costs ? 0.0 : rng.uniform(0.0, 0.2),
                             .capacity = 1 + rng.below(2)});
    return ChannelId::of(spec.channels.size() - 1);
  };
  spec.groups.resize(options.devices > 2 ? 2 : 1);
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    spec.groups[g] = {.name = fmt::format("g{}", g),
                      .egress = {add_channel(fmt::format("g{}.out", g), 1.0)},
                      .ingress = {add_channel(fmt::format("g{}.in", g), 1.0)}};
  }
  for (std::size_t d = 0; d < options.devices; ++d) {
    spec.devices[d].group = static_cast<std::uint32_t>(d % spec.groups.size());
    spec.devices[d].egress = {add_channel(fmt::format("d{}.out", d), 2.0)};
    spec.devices[d].ingress = {add_channel(fmt::format("d{}.in", d), 2.0)};
  }
  return device::Topology(std::move(spec));
}

graph::Graph random_graph_for(const RandomProblemOptions& options, Rng& rng) {
  graph::GraphBuilder builder;
  const auto cost = [&] {
    return options.whole_costs ? static_cast<double>(rng.below(4)) : rng.uniform(0.2, 3.0);
  };
  std::vector<TensorId> outputs;
  std::vector<NodeId> nodes;
  for (std::size_t v = 0; v < options.nodes; ++v) {
    graph::NodeSpec node{.name = fmt::format("n{}", v)};
    for (std::size_t k = 0; k < options.kinds; ++k) {
      // Every node runs on the first kind, where all devices with id 0, kinds, … are.
      if (k > 0 && options.constraints && rng.chance(0.15)) continue;
      node.times_by_kind.emplace_back(fmt::format("p{}", k), cost());
    }
    if (options.meta_ops && rng.chance(0.8)) {
      node.meta_op = fmt::format("m{}", v / 5);
      node.meta_role = v % 5 < 4 ? graph::MetaRole::kShard : graph::MetaRole::kReduction;
    }
    nodes.push_back(builder.add_node(std::move(node)));
    outputs.push_back(builder.add_tensor({.name = fmt::format("t{}", v),
                                          .producer = nodes.back(),
                                          .bytes = 1.0 + rng.below(6),
                                          .transfer_time = cost()}));
    for (std::size_t u = v > 12 ? v - 12 : 0; u < v; ++u) {
      if (!rng.chance(options.edge_probability)) continue;
      const bool own = options.network == Network::kPairs && rng.chance(0.3);
      builder.connect(outputs[u], nodes[v], own ? std::optional<double>(cost()) : std::nullopt);
    }
  }
  const auto any_node = [&] { return nodes[rng.below(static_cast<std::uint32_t>(nodes.size()))]; };
  const auto any_device = [&] {
    return fmt::format("d{}", rng.below(static_cast<std::uint32_t>(options.devices)));
  };
  if (options.homes) {
    const TensorId input = builder.add_tensor({.name = "input",
                                               .role = graph::TensorRole::kInput,
                                               .bytes = 3.0,
                                               .transfer_time = cost(),
                                               .home = any_device()});
    for (int i = 0; i < 3; ++i) builder.connect(input, any_node());
  }
  if (options.updates) {
    const TensorId parameter = builder.add_tensor({.name = "parameter",
                                                   .role = graph::TensorRole::kParameter,
                                                   .bytes = 4.0,
                                                   .transfer_time = cost()});
    for (int i = 0; i < 3; ++i) builder.connect(parameter, any_node());
    builder.add_tensor({.name = "updated",
                        .producer = nodes.back(),
                        .bytes = 4.0,
                        .transfer_time = cost(),
                        .updates = parameter});
  }
  if (options.constraints) {
    builder.constraints().colocated.push_back({any_node(), any_node()});
    builder.constraints().colocated.push_back({any_node(), any_node()});
    // d0 is never forbidden and the only device that pins name, so that something is always left.
    builder.constraints().pins.push_back({any_node(), "d0"});
    if (options.devices > 1) {
      for (int i = 0; i < 2; ++i) {
        builder.constraints().forbids.push_back(
            {any_node(),
             fmt::format("d{}", 1 + rng.below(static_cast<std::uint32_t>(options.devices - 1)))});
      }
    }
  }
  return std::move(builder).build();
}

}  // namespace

std::shared_ptr<const cost::Problem> random_problem(const RandomProblemOptions& options,
                                                    std::uint64_t seed) {
  Rng rng = Rng::stream(seed, 0x706c616365);
  auto topology = std::make_shared<device::Topology>(random_topology(options, rng));
  auto graph = std::make_shared<graph::Graph>(random_graph_for(options, rng));
  return std::make_shared<cost::Problem>(std::move(graph), std::move(topology),
                                         cost::ProblemOptions{.links = options.links});
}

std::vector<std::vector<double>> weak_orders(std::size_t count) {
  // All assignments of levels below `count` that leave no level out.
  std::vector<std::vector<double>> orders;
  std::vector<double> levels(count, 0.0);
  for (;;) {
    const double top = *std::max_element(levels.begin(), levels.end());
    bool dense = true;
    for (double level = 0.0; level < top; ++level) {
      dense &= std::find(levels.begin(), levels.end(), level) != levels.end();
    }
    if (dense) orders.push_back(levels);
    std::size_t i = 0;
    while (i < count && levels[i] + 1.0 == static_cast<double>(count)) levels[i++] = 0.0;
    if (i == count) return orders;
    ++levels[i];
  }
}

double brute_force_optimum(const cost::Problem& problem) {
  const auto orders = weak_orders(problem.node_count());
  place::MemoryFit gauge(problem);
  std::vector<std::size_t> choice(problem.unit_count(), 0);
  schedule::Placement placement;
  placement.device.resize(problem.node_count());
  double best = cost::kInfinity;
  for (;;) {
    for (std::uint32_t u = 0; u < choice.size(); ++u) {
      for (const NodeId node : problem.unit(u)) {
        placement.device[node.index()] = problem.allowed_devices(node)[choice[u]];
      }
    }
    for (const auto& order : orders) {
      placement.priority = order;
      if (gauge.fits(placement)) best = std::min(best, gauge.makespan());
    }
    std::uint32_t u = 0;
    while (u < choice.size() &&
           choice[u] + 1 == problem.allowed_devices(problem.unit(u).front()).size()) {
      choice[u++] = 0;
    }
    if (u == choice.size()) return best;
    ++choice[u];
  }
}

}  // namespace doppler::test
