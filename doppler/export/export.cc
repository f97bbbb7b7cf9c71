#include "doppler/export/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "doppler/base/error.h"
#include "doppler/base/json_writer.h"

namespace doppler::exporting {

namespace {

// The table of forms.
constexpr Target kTargets[] = {
    {"onnx", "the ONNX model with the placement in its metadata", write_onnx},
    {"torch", "a device map as Hugging Face accelerate reads it", write_torch},
    {"tf", "a GraphDef in text form with device strings", write_tensorflow},
    {"dot", "Graphviz, coloured by device", write_dot},
    {"starpu", "a worker and a priority for each task, as JSON", write_starpu},
};

}  // namespace

std::span<const Target> targets() {
  return kTargets;
}

const Target& target_by_name(std::string_view name) {
  std::string known;
  for (const Target& target : kTargets) {
    if (target.name == name) return target;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", target.name);
  }
  throw ParameterError(fmt::format("unknown form '{}' (known: {})", name, known));
}

std::vector<ClassIndex> class_indices(const device::Topology& topology) {
  std::vector<ClassIndex> indices;
  std::uint32_t next[2] = {0, 0};
  for (std::size_t d = 0; d < topology.device_count(); ++d) {
    const bool accelerator =
        topology.kind(DeviceId::of(d)).device_class == device::DeviceClass::kAccelerator;
    indices.push_back({accelerator, next[accelerator ? 1 : 0]++});
  }
  return indices;
}

std::vector<std::uint32_t> priority_ranks(const schedule::Placement& placement) {
  const std::vector<double>& priority = placement.priority;
  std::vector<std::uint32_t> order(priority.size()), ranks(priority.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return priority[a] < priority[b]; });
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || priority[order[i - 1]] < priority[order[i]]) ++rank;
    ranks[order[i]] = rank;
  }
  return ranks;
}

// --- StarPU: the workers and priorities that STARPU_EXECUTE_ON_WORKER and STARPU_PRIORITY take ---

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
  // StarPU needs a task to be submitted after those that it waits for.
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
