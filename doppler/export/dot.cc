// The form for Graphviz. The device of a node is shown by its colour and named by an attribute.
#include <fmt/format.h>

#include <iterator>

#include "doppler/export/export.h"
#include "doppler/formats/dot/dot.h"

namespace doppler::exporting {
namespace {

// The colours of Okabe and Ito, which colour-blind people can tell apart ("Color Universal Design",
// 2008), without black. They repeat if there are more devices.
constexpr std::string_view kColours[] = {"#E69F00", "#56B4E9", "#009E73", "#F0E442",
                                         "#0072B2", "#D55E00", "#CC79A7"};

}  // namespace

Exported write_dot(const Source& source) {
  const graph::Graph& graph = source.problem.graph();
  const device::Topology& topology = source.problem.topology();
  Exported exported;
  auto out = std::back_inserter(exported.bytes);
  fmt::format_to(out, "digraph {} {{\n  node [style=filled, shape=box];\n",
                 formats::dot_quoted(graph.name().empty() ? "graph" : graph.name()));
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    const NodeId node = NodeId::of(v);
    const DeviceId device = source.placement.device[v];
    fmt::format_to(out, "  {} [op={}, device={}, priority={}, fillcolor={}];\n",
                   formats::dot_quoted(graph.node_name(node)),
                   formats::dot_quoted(graph.op_kind(node)),
                   formats::dot_quoted(topology.device(device).name),
                   formats::dot_quoted(fmt::format("{}", source.placement.priority[v])),
                   formats::dot_quoted(kColours[device.index() % std::size(kColours)]));
  }
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    const NodeId producer = graph.producer(tensor);
    if (!producer.valid()) continue;
    for (const NodeId consumer : graph.consumers(tensor)) {
      const bool crosses =
          source.placement.device[producer.index()] != source.placement.device[consumer.index()];
      fmt::format_to(out, "  {} -> {}", formats::dot_quoted(graph.node_name(producer)),
                     formats::dot_quoted(graph.node_name(consumer)));
      if (const auto bytes = graph.bytes(tensor)) {
        fmt::format_to(out, " [bytes={}{}]", formats::dot_quoted(fmt::format("{}", *bytes)),
                       crosses ? ", style=bold" : "");
      } else if (crosses) {
        exported.bytes += " [style=bold]";
      }
      exported.bytes += ";\n";
    }
  }
  exported.bytes += "}\n";
  if (topology.device_count() > std::size(kColours)) {
    exported.notes.push_back(
        fmt::format("{} devices share {} colours; the attribute 'device' tells them apart",
                    topology.device_count(), std::size(kColours)));
  }
  return exported;
}

}  // namespace doppler::exporting
