#include "bench/rivals/shapes.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "doppler/api/doppler.h"
#include "doppler/base/rng.h"
#include "doppler/graph/generate/random.h"

namespace doppler::bench {
namespace {

using Predecessors = std::vector<std::vector<std::size_t>>;  // by node, all of them before it

constexpr std::size_t kForkWidth = 64;
constexpr std::uint64_t kShapeSeed = 1;

kernel::KernelCall smallest_call(std::size_t operands) {
  kernel::KernelCall call;
  call.name = operands == 1 ? "scale" : "add_n";
  if (operands == 1) call.attributes = {{"factor", "1"}};
  call.inputs.assign(operands, {1});
  call.outputs = {{1}};
  return call;
}

// Nodes without predecessors read the input; results that nobody reads are outputs.
Shape make_shape(std::string name, const Predecessors& predecessors, std::size_t workers,
                 const std::function<std::size_t(std::size_t)>& worker_of) {
  std::vector<bool> is_read(predecessors.size(), false);
  for (const auto& before : predecessors) {
    for (const std::size_t node : before) is_read[node] = true;
  }
  graph::GraphBuilder builder;
  const TensorId input =
      builder.add_tensor({.name = "x", .role = graph::TensorRole::kInput, .bytes = 4.0});
  std::vector<TensorId> results;
  for (std::size_t v = 0; v < predecessors.size(); ++v) {
    const auto& before = predecessors[v];
    const kernel::KernelCall call = smallest_call(std::max<std::size_t>(before.size(), 1));
    const NodeId node = builder.add_node(
        {.name = std::to_string(v), .op = call.name, .flops = 1.0, .kernel = call});
    if (before.empty()) builder.connect(input, node);
    for (const std::size_t other : before) builder.connect(results[other], node);
    results.push_back(builder.add_tensor(
        {.name = std::to_string(v), .producer = node, .bytes = 4.0, .output = !is_read[v]}));
  }
  auto problem = api::make_problem(std::move(builder).build(), "cpu:" + std::to_string(workers));
  std::vector<DeviceId> device;
  for (std::size_t v = 0; v < predecessors.size(); ++v)
    device.push_back(DeviceId::of(worker_of(v)));
  schedule::Placement placement = schedule::with_b_levels(*problem, std::move(device));
  return {std::move(name), std::move(problem), std::move(placement), {{input, {1.0f}}}};
}

Predecessors chains(std::size_t count, std::size_t nodes) {
  Predecessors predecessors(nodes);
  for (std::size_t v = count; v < nodes; ++v) predecessors[v] = {v - count};
  return predecessors;
}

// A node, kForkWidth that wait for it, a node that waits for all of these, and so on.
Predecessors forks_and_joins(std::size_t nodes) {
  Predecessors predecessors(1);
  while (predecessors.size() < nodes) {
    const std::size_t fork = predecessors.size() - 1;
    std::vector<std::size_t> joined;
    for (std::size_t i = 0; i < kForkWidth; ++i) {
      joined.push_back(predecessors.size());
      predecessors.push_back({fork});
    }
    predecessors.push_back(std::move(joined));
  }
  return predecessors;
}

// The structure of a generated graph; its nodes are renumbered in topological order.
Predecessors layered(std::size_t nodes) {
  const graph::Graph graph = graph::generate_random(
      {.family = graph::Family::kLayered, .nodes = nodes, .seed = kShapeSeed});
  std::vector<std::size_t> position(graph.node_count());
  Predecessors predecessors;
  for (const NodeId node : graph.topological_order()) {
    position[node.index()] = predecessors.size();
    std::vector<std::size_t> before;
    for (const TensorId tensor : graph.inputs(node)) {
      const NodeId producer = graph.producer(tensor);
      if (producer.valid()) before.push_back(position[producer.index()]);
    }
    predecessors.push_back(std::move(before));
  }
  return predecessors;
}

}  // namespace

std::vector<Shape> shapes(std::size_t nodes) {
  std::vector<Shape> made;
  made.push_back(make_shape("chain", chains(1, nodes), 1, [](std::size_t) { return 0; }));
  made.push_back(
      make_shape("two chains", chains(2, nodes), 2, [](std::size_t v) { return v % 2; }));
  made.push_back(make_shape("fork-join", forks_and_joins(nodes), 2, [](std::size_t v) {
    return v % (kForkWidth + 1) % 2;  // forks and joins on the first worker, as half of the others
  }));
  Rng rng(kShapeSeed);
  made.push_back(
      make_shape("layered", layered(nodes), 2, [&](std::size_t) { return rng.below(2); }));
  return made;
}

}  // namespace doppler::bench
