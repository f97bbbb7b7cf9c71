// Costs that were measured: how long the nodes of one graph took on kinds of devices, and transfers
// between devices. Made from runs (exec/profile.h) or read from a file (measured_costs_json.h);
// Problem prefers them to all other sources.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/cost/cost_model.h"
#include "doppler/graph/graph.h"

namespace doppler::cost {

// On all devices of one kind together.
struct MeasuredNode {
  NodeId node;
  std::uint32_t kind = 0;  // index into MeasuredCosts::kinds
  double seconds = 0.0;    // mean over runs, without the longest and the shortest tenth
  double spread = 0.0;     // seconds between the quartiles of the runs
};

struct MeasuredTransfer {
  TensorId tensor;
  std::string from = {}, to = {};  // devices
  double seconds = 0.0;            // likewise, from when data began to move
  double bytes = 0.0;              // 0 where unknown
  // What the topology says of the route. Transfers on routes of which it says the same are taken
  // together. Absent where the graph gives transfer times instead: such a transfer says nothing of
  // others.
  std::optional<Link> link = std::nullopt;
};

struct MeasuredCosts {
  std::string file = {};     // where they were read from; empty: nowhere
  std::string graph = {};    // path
  std::string devices = {};  // spec
  std::uint64_t graph_hash = 0;
  int runs = 0;
  std::vector<std::string> kinds = {};   // names of device kinds
  std::vector<MeasuredNode> nodes = {};  // each node and kind at most once
  std::vector<MeasuredTransfer> transfers = {};

  // The figures of links of which the topology says `nominal`, as measured; nothing where none was.
  std::optional<Link> link(const Link& nominal) const;
};

// The times of nodes, for Problem.
class Measured final : public CostModel {
 public:
  // REQUIRES: the costs are those of a graph with this many nodes.
  Measured(const MeasuredCosts& costs, std::size_t node_count);
  std::optional<double> node_time(const graph::Graph&, NodeId,
                                  const device::DeviceKind&) const override;

 private:
  std::vector<std::string> kinds_;
  std::vector<double> seconds_;  // by node, then kind; negative: not measured
};

// Measured costs as JSON files (docs/formats/costs.md).

// REQUIRES: the costs are those of this graph.
std::string write_measured_costs_json(const graph::Graph& graph, const MeasuredCosts& costs);

// Resolves names in the graph. Throws InputError with the place where the file is damaged or was
// measured for another graph: its hash differs or a name is unknown.
MeasuredCosts read_measured_costs_json(const std::string& file, std::string_view text,
                                       const graph::Graph& graph);

}  // namespace doppler::cost
