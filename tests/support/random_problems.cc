#include "support/random_problems.h"

#include <fmt/format.h>

#include "doppler/base/rng.h"

namespace doppler::test {

device::TopologySpec random_topology(std::uint64_t seed) {
  Rng rng = Rng::stream(seed, 0x7090);
  device::TopologySpec spec;
  spec.name = fmt::format("random {}", seed);
  spec.kinds = {{.name = "fast"}, {.name = "slow"}};
  const auto add_channel = [&](std::string name) {
    spec.channels.push_back({.name = std::move(name),
                             .bandwidth = rng.uniform(20.0, 100.0),
                             .latency_seconds = rng.chance(0.3) ? 0.0 : rng.uniform(0.0, 0.3),
                             .capacity = rng.chance(0.3) ? 2u : 1u});
    return ChannelId::of(spec.channels.size() - 1);
  };
  const std::uint32_t groups = 1 + rng.below(2);
  std::vector<ChannelId> bridge(groups);  // valid where the group's devices share one
  for (std::uint32_t g = 0; g < groups; ++g) {
    device::Group group{.name = fmt::format("g{}", g)};
    if (groups > 1) {
      group.egress = {add_channel(group.name + " out")};
      group.ingress = {add_channel(group.name + " in")};
    }
    if (rng.chance(0.4)) bridge[g] = add_channel(group.name + " bridge");
    spec.groups.push_back(std::move(group));
  }
  const std::uint32_t devices = 2 + rng.below(4);
  for (std::uint32_t d = 0; d < devices; ++d) {
    device::Device device{.name = fmt::format("d{}", d), .kind = rng.below(2), .group = d % groups};
    if (const ChannelId shared = bridge[device.group]; shared.valid()) {
      device.egress = device.ingress = {shared};
    } else {
      device.egress = {add_channel(device.name + " out")};
      device.ingress = {add_channel(device.name + " in")};
    }
    spec.devices.push_back(std::move(device));
  }
  if (rng.chance(0.5)) {
    spec.routes.push_back({DeviceId(0), DeviceId(1), {add_channel("direct"), ChannelId(0)}});
  }
  return spec;
}

std::shared_ptr<const cost::Problem> random_problem(std::size_t nodes, std::uint64_t seed) {
  Rng rng = Rng::stream(seed, 0x9b0b);
  const bool uniform = rng.chance(0.5);
  device::TopologySpec topology = random_topology(seed);
  RandomGraphOptions options{.nodes = nodes,
                             .edge_probability = rng.uniform(0.1, 0.5),
                             .zero_costs = rng.chance(0.4),
                             .several_outputs = rng.chance(0.5),
                             .integer_costs = rng.chance(0.4),
                             .consumer_times = rng.chance(0.4),
                             .kinds = !uniform && rng.chance(0.7)};
  const std::size_t devices = uniform ? 1 + rng.below(4) : topology.devices.size();
  if (rng.chance(0.5)) options.homes = devices;
  graph::Graph graph = random_graph(options, seed);
  const auto links = rng.chance(0.5) ? cost::LinkMode::kFree : cost::LinkMode::kChannel;
  if (uniform) return uniform_problem(std::move(graph), devices, links);
  return make_problem(std::move(graph), std::move(topology), {.links = links});
}

schedule::Placement random_placement(const cost::Problem& problem, std::uint64_t seed) {
  Rng rng = Rng::stream(seed, 0x91ac);
  std::vector<DeviceId> device(problem.node_count());
  for (std::uint32_t unit = 0; unit < problem.unit_count(); ++unit) {
    const auto allowed = problem.allowed_devices(problem.unit(unit).front());
    const DeviceId chosen = allowed[rng.below(static_cast<std::uint32_t>(allowed.size()))];
    for (const NodeId node : problem.unit(unit)) device[node.index()] = chosen;
  }
  schedule::Placement placement = schedule::with_b_levels(problem, std::move(device));
  const double style = rng.uniform();
  if (style < 0.4) return placement;
  for (double& priority : placement.priority) {
    priority = style < 0.7 ? rng.uniform() : static_cast<double>(rng.below(3));
  }
  return placement;
}

}  // namespace doppler::test
