// No method ever breaks a constraint: every method of the registry, the learned ones included, on
// random graphs with random demands, judged from the demands themselves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "doppler/api/doppler.h"
#include "doppler/base/rng.h"
#include "doppler/place/feasible.h"
#include "support/graphs.h"
#include "support/random_problems.h"

namespace doppler {
namespace {

struct Case {
  std::shared_ptr<const cost::Problem> problem;
  graph::Constraints demands;
};

// Demands that can be met: they follow from a placement that nobody is told of.
Case random_case(std::uint64_t seed) {
  Rng rng = Rng::stream(seed, 0xc0257);
  const device::TopologySpec spec = test::random_topology(seed);
  const auto devices = static_cast<std::uint32_t>(spec.devices.size());
  auto graph = std::make_shared<const graph::Graph>(test::random_graph(
      {.nodes = 8 + rng.below(18), .edge_probability = rng.uniform(0.1, 0.3)}, seed));
  std::vector<std::uint32_t> secret(graph->node_count());
  for (auto& device : secret) device = rng.below(devices);
  Case made;
  for (std::uint32_t v = 0; v < secret.size(); ++v) {
    const NodeId node(v);
    if (rng.chance(0.15)) made.demands.pins.push_back({node, spec.devices[secret[v]].name});
    for (std::uint32_t d = 0; d < devices; ++d) {
      if (d == secret[v] || !rng.chance(0.15)) continue;
      made.demands.forbids.push_back({node, spec.devices[d].name});
    }
  }
  for (int g = 0; g < 3; ++g) {
    std::vector<NodeId> group;
    const std::uint32_t device = rng.below(devices);
    for (std::uint32_t v = 0; v < secret.size(); ++v) {
      if (secret[v] == device && rng.chance(0.4)) group.push_back(NodeId(v));
    }
    if (group.size() > 1) made.demands.colocated.push_back(std::move(group));
  }
  // Sometimes too little for everything in one place.
  double all = 0.0;
  for (std::size_t t = 0; t < graph->tensor_count(); ++t) {
    all += graph->bytes(TensorId::of(t)).value_or(0.0);
  }
  if (rng.chance(0.5)) {
    made.demands.memory.push_back(
        {spec.devices[rng.below(devices)].name, static_cast<std::uint64_t>(all * 0.6)});
  }
  made.problem = std::make_shared<const cost::Problem>(
      std::move(graph), std::make_shared<const device::Topology>(spec),
      cost::ProblemOptions{.constraints = made.demands});
  return made;
}

void expect_obeyed(const Case& made, const schedule::Placement& placement) {
  const device::Topology& topology = made.problem->topology();
  const auto name_of = [&](NodeId node) {
    return topology.device(placement.device[node.index()]).name;
  };
  for (const auto& pin : made.demands.pins) EXPECT_EQ(name_of(pin.node), pin.device);
  for (const auto& forbid : made.demands.forbids) EXPECT_NE(name_of(forbid.node), forbid.device);
  for (const auto& group : made.demands.colocated) {
    for (const NodeId node : group) EXPECT_EQ(name_of(node), name_of(group.front()));
  }
  place::MemoryFit gauge(*made.problem);
  gauge.fits(placement);
  for (const auto& memory : made.demands.memory) {
    if (!made.problem->memory_can_bind()) continue;
    const DeviceId device = *topology.find_device(memory.device);
    EXPECT_LE(gauge.meter().peak_bytes()[device.index()], static_cast<double>(memory.bytes));
  }
}

TEST(Constraints, NoMethodBreaksOne) {
  const place::Registry methods = api::default_methods();
  std::map<std::string_view, int> placed;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Case made = random_case(seed);
    for (const place::Placer* method : methods.all()) {
      SCOPED_TRACE(fmt::format("{}, seed {}", method->name(), seed));
      try {
        const auto result =
            method->place(*made.problem, {.seed = seed, .max_evaluations = 64, .threads = 1});
        expect_obeyed(made, result.placement);
        ++placed[method->name()];
      } catch (const InfeasibleError& error) {
        EXPECT_FALSE(made.demands.memory.empty()) << error.what();
      }
    }
  }
  for (const place::Placer* method : methods.all()) {
    EXPECT_GE(placed[method->name()], 20) << method->name();  // without a memory limit all place
  }
}

}  // namespace
}  // namespace doppler
