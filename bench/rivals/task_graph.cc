#include "bench/rivals/task_graph.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace doppler::bench {
namespace {

std::vector<NodeId> predecessors_of(const graph::Graph& graph, NodeId node) {
  std::vector<NodeId> found;
  for (const TensorId tensor : graph.inputs(node)) {
    if (graph.producer(tensor).valid()) found.push_back(graph.producer(tensor));
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

TaskGraph::TaskGraph(const graph::Graph& of, const schedule::Placement& placement)
    : graph(of), rank(of.node_count()) {
  predecessors = Csr<NodeId>::build(graph.node_count(), [&](const auto& visit) {
    for (std::size_t v = 0; v < graph.node_count(); ++v) {
      for (const NodeId before : predecessors_of(graph, NodeId::of(v))) visit(v, before);
    }
  });
  for (const DeviceId device : placement.device) worker.push_back(device.value());
  std::vector<std::size_t> last_first(graph.node_count());
  std::iota(last_first.begin(), last_first.end(), 0);
  std::sort(last_first.begin(), last_first.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(placement.priority[a], b) < std::tuple(placement.priority[b], a);
  });
  for (std::size_t i = 0; i < last_first.size(); ++i) rank[last_first[i]] = static_cast<int>(i) + 1;
}

}  // namespace doppler::bench
