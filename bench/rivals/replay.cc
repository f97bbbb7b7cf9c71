#include "bench/rivals/replay.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "doppler/graph/builder.h"
#include "doppler/sim/simulator.h"

namespace doppler::bench {
namespace {

// The graph with the run's durations as given times. What was not moved takes no time to move.
graph::Graph with_times_of(const graph::Graph& graph, const schedule::Timeline& run) {
  std::map<std::pair<TensorId, DeviceId>, double> moved;
  std::vector<double> longest(graph.tensor_count(), 0.0);
  for (const schedule::TransferRun& transfer : run.transfers) {
    const double seconds = transfer.end - transfer.start;
    double& time = moved[{transfer.tensor, transfer.to}];
    time = std::max(time, seconds);
    longest[transfer.tensor.index()] = std::max(longest[transfer.tensor.index()], seconds);
  }
  graph::GraphBuilder builder;
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    builder.add_node({.name = std::string(graph.node_name(NodeId::of(v))),
                      .time = run.nodes[v].end - run.nodes[v].start});
  }
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    builder.add_tensor({.name = std::string(graph.tensor_name(tensor)),
                        .role = graph.role(tensor),
                        .producer = graph.producer(tensor),
                        .transfer_time = longest[t],
                        .output = graph.is_output(tensor),
                        .home = std::string(graph.home(tensor))});
  }
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    if (graph.updates(tensor).valid()) builder.set_updates(tensor, graph.updates(tensor));
    for (const NodeId consumer : graph.consumers(tensor)) {
      const auto found = moved.find({tensor, run.device[consumer.index()]});
      builder.connect(tensor, consumer, found == moved.end() ? 0.0 : found->second);
    }
  }
  return std::move(builder).build();
}

}  // namespace

double replayed_makespan(const cost::Problem& problem, const schedule::Timeline& run) {
  const cost::Problem timed(
      std::make_shared<const graph::Graph>(with_times_of(problem.graph(), run)),
      problem.shared_topology(), {.costs = cost::CostSource::kGiven, .links = problem.links()});
  return sim::Simulator(timed).makespan({run.device, run.priority}, cost::kInfinity);
}

}  // namespace doppler::bench
