// Workers and priorities for StarPU: what STARPU_EXECUTE_ON_WORKER and STARPU_PRIORITY take.
#include "doppler/base/json_writer.h"
#include "doppler/export/targets.h"

namespace doppler::exporting {

Exported write_starpu(const Source& source) {
  const graph::Graph& graph = source.problem.graph();
  const device::Topology& topology = source.problem.topology();
  const std::vector<std::uint32_t> ranks = priority_ranks(source.placement);
  JsonWriter json;
  json.begin_object();
  json.field("format", "doppler.starpu").field("version", 1).field("graph", graph.name());
  json.key("workers").begin_array(JsonLayout::kCompact);
  for (const device::Device& device : topology.devices()) json.value(device.name);
  json.end_array();
  json.key("tasks").begin_array();
  // In an order in which a task may be submitted after those that it waits for.
  for (const NodeId node : graph.topological_order()) {
    json.begin_object(JsonLayout::kCompact);
    json.field("name", graph.node_name(node)).field("codelet", graph.op_kind(node));
    json.field("worker", source.placement.device[node.index()].value());
    json.field("priority", ranks[node.index()]);
    json.end_object();
  }
  json.end_array().end_object();
  return {json.take(), {}};
}

}  // namespace doppler::exporting
