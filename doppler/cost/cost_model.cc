#include "doppler/cost/cost_model.h"

#include <algorithm>

namespace doppler::cost {

std::optional<double> GivenByKind::node_time(const graph::Graph& graph, NodeId node,
                                             const device::DeviceKind& kind) const {
  const auto names = graph.time_kind_names();
  std::optional<double> for_class;
  for (const graph::TimeForKind& entry : graph.times_by_kind(node)) {
    if (names[entry.kind] == kind.name) return entry.time;
    if (names[entry.kind] == device::class_name(kind.device_class)) for_class = entry.time;
  }
  return for_class;
}

std::optional<double> GivenSingle::node_time(const graph::Graph& graph, NodeId node,
                                             const device::DeviceKind&) const {
  return graph.given_time(node);
}

std::optional<double> Roofline::node_time(const graph::Graph& graph, NodeId node,
                                          const device::DeviceKind& kind) const {
  const auto flops = graph.flops(node);
  const auto read = graph.bytes_read(node);
  const auto written = graph.bytes_written(node);
  std::optional<double> bytes;
  if (read || written) bytes = read.value_or(0.0) + written.value_or(0.0);
  const device::Efficiency efficiency = kind.efficiency(graph.op_kind(node)).of(flops, bytes);
  std::optional<double> seconds;
  if (flops && kind.peak_flops) seconds = *flops / (*kind.peak_flops * efficiency.compute);
  if (bytes && kind.memory_bandwidth) {
    seconds =
        std::max(seconds.value_or(0.0), *bytes / (*kind.memory_bandwidth * efficiency.memory));
  }
  if (seconds) *seconds += kind.launch_overhead_seconds;
  return seconds;
}

}  // namespace doppler::cost
