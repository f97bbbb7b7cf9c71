// Fuzzes predicted costs: whatever the works of a graph and the figures of a machine are, a time
// is a number, and not negative. It may be infinite, which problems refuse. An input is a graph in
// our JSON on one line, and a topology file behind it.
#include <algorithm>

#include "doppler/cost/predicted.h"
#include "doppler/device/spec.h"
#include "doppler/graph/graph_json.h"
#include "target.h"

void fuzz(std::string_view bytes) {
  using namespace doppler;
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  const graph::Graph graph = graph::read_graph_json("graph", bytes.substr(0, end));
  const device::Topology machine = device::read_topology_json("machine", bytes.substr(end));
  for (const cost::Precision precision : {cost::Precision(), cost::Precision(ElementType::kF16),
                                          cost::Precision(ElementType::kFp8)}) {
    const cost::Predicted predicted(graph, precision);
    for (std::size_t v = 0; v < graph.node_count(); ++v) {
      for (const device::DeviceKind& kind : machine.kinds()) {
        const auto seconds = predicted.node_time(graph, NodeId::of(v), kind);
        if (seconds && !(*seconds >= 0.0)) __builtin_trap();
      }
    }
  }
}
