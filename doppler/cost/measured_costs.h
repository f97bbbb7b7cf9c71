// Measured costs: how long the nodes of one graph took on kinds of devices, and how long transfers
// took between devices. They are made from runs (in exec/) or read from a JSON file
// (docs/formats/costs.md); Problem prefers them to all other sources. Plain values, except
// Measured, which is immutable.
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

// The time of one node on the devices of one kind, taken together.
struct MeasuredNode {
  NodeId node;
  std::uint32_t kind = 0;  // index into MeasuredCosts::kinds
  double seconds = 0.0;    // mean over runs, without the longest and the shortest tenth
  double spread = 0.0;     // seconds between the quartiles of the runs
};

// The time of the transfers of one tensor from one device to another.
struct MeasuredTransfer {
  TensorId tensor;
  std::string from = {}, to = {};  // names of devices
  double seconds = 0.0;  // trimmed mean over runs as for nodes, from when data began to move
  double bytes = 0.0;    // 0 where unknown
  // The figures of the route in the topology. Transfers on routes with equal figures are fitted
  // together. Absent where the graph gives transfer times instead: such a transfer says nothing
  // about others.
  std::optional<Link> link = std::nullopt;
};

// The measurements of one graph on one set of devices.
struct MeasuredCosts {
  std::string file = {};     // the file they were read from; empty: none
  std::string graph = {};    // path of the graph's file
  std::string devices = {};  // the devices as the user specified them
  std::uint64_t graph_hash = 0;
  int runs = 0;
  std::vector<std::string> kinds = {};   // names of device kinds
  std::vector<MeasuredNode> nodes = {};  // each node and kind at most once
  std::vector<MeasuredTransfer> transfers = {};

  // Returns the figures fitted to the transfers on routes whose figures in the topology are
  // `nominal`, or nothing if no such transfer was measured.
  std::optional<Link> link(const Link& nominal) const;
};

// The measured times of nodes as a source of costs. Keeps no reference to the costs it is made
// from.
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

// Returns the costs as the text of a JSON file. REQUIRES: the costs are those of this graph.
std::string write_measured_costs_json(const graph::Graph& graph, const MeasuredCosts& costs);

// Reads costs, resolving names in the graph. Throws InputError with the position if the file is
// damaged or was measured for another graph (its hash differs or a name is unknown).
MeasuredCosts read_measured_costs_json(const std::string& file, std::string_view text,
                                       const graph::Graph& graph);

}  // namespace doppler::cost
