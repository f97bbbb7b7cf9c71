// A placement problem: a graph on a topology, with the cost tables, constraints and memory limits
// that follow from them, as flat arrays. Everything above cost/ works on a Problem.
//
// A Problem is immutable, so threads share it freely. It keeps the graph and the topology alive.
// All its times are in time_unit(), all sizes in bytes. Ids given to accessors must be those of the
// problem's graph and topology: they are not checked. Views that accessors return are valid as long
// as the problem.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doppler/base/csr.h"
#include "doppler/base/id.h"
#include "doppler/cost/cost_model.h"
#include "doppler/cost/kernel_runs.h"
#include "doppler/device/topology.h"
#include "doppler/graph/graph.h"

namespace doppler::cost {

struct Corrections;
struct MeasuredCosts;

// The way in which transfers compete for the links between devices.
enum class LinkMode : std::uint8_t {
  kFree,     // a transfer takes its time and holds nothing
  kChannel,  // a transfer holds one unit of every channel on its route
};

// The sources from which times of nodes and transfers are taken.
enum class CostSource : std::uint8_t {
  kAutomatic,  // on `uniform:N` as kGiven; else the first that is known of: the time given for the
               // kind of device or its class, the predicted time, the single given time
  kGiven,      // only times given in the graph
  kPredicted,  // only predictions, by what a node computes in which type (predicted.h)
  kRoofline,   // only predictions from flops and bytes, with the peaks of data sheets in f32
  kMeasured,   // measured times, and kAutomatic where there is none
};

// The source of the time of a node on a kind of device.
enum class TimeOrigin : std::uint8_t { kMeasured, kGiven, kPredicted };
inline constexpr std::size_t kTimeOriginCount = 3;

// The figures of channels that count.
enum class LinkFigures : std::uint8_t {
  kAchieved,   // what applications get, where a channel says so (device::AchievedLink)
  kDataSheet,  // line rates, and latencies of the links alone
};

// The choices that make a problem from a graph and a topology.
struct ProblemOptions {
  CostSource costs = CostSource::kAutomatic;
  // Measured costs of this graph. They come before every other source; `costs` then says where the
  // times come from that they lack.
  std::shared_ptr<const MeasuredCosts> measured = nullptr;
  // The type in which the model is deployed. It changes predicted times and the bytes of tensors,
  // not what is computed.
  Precision precision = std::nullopt;
  std::optional<LinkMode> links = std::nullopt;  // absent: free for `uniform`, else channel
  // Absent: kDataSheet where costs are kRoofline, else kAchieved.
  std::optional<LinkFigures> link_figures = std::nullopt;
  graph::Constraints constraints = {};  // added to those of the graph
};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Problem {
 public:
  // A consumer that waits for a tensor which has a producer or a home. `amount` is the tensor's
  // bytes if transfer_by_bytes(tensor), else the given transfer time.
  struct Edge {
    NodeId consumer;
    TensorId tensor;
    double amount;
  };
  using Link = cost::Link;

  // Throws InputError if the graph is empty, a cost is missing, a device name is unknown, times in
  // a unit of the graph's own would mix with seconds, or measured costs are those of another graph;
  // ParameterError if kMeasured comes without measured costs, or a precision with costs that it
  // cannot change; InfeasibleError if constraints leave no device for a node. REQUIRES: neither
  // pointer is null.
  Problem(std::shared_ptr<const graph::Graph> graph,
          std::shared_ptr<const device::Topology> topology, ProblemOptions options = {});

  // Returns this problem with its times multiplied by the corrections (see calibration.h). In the
  // result every device has a column of its own. REQUIRES: the corrections have an entry for each
  // node on each device and for each pair of devices.
  std::shared_ptr<const Problem> corrected(const Corrections& corrections) const;

  const graph::Graph& graph() const { return *graph_; }
  const device::Topology& topology() const { return *topology_; }
  std::shared_ptr<const graph::Graph> shared_graph() const { return graph_; }
  std::shared_ptr<const device::Topology> shared_topology() const { return topology_; }
  LinkMode links() const { return links_; }
  LinkFigures link_figures() const { return link_figures_; }
  CostSource costs() const { return measured_ ? CostSource::kMeasured : costs_; }
  Precision precision() const { return precision_; }
  const MeasuredCosts* measured() const { return measured_.get(); }  // null: none
  // Returns the graph's time unit if all times are given, else "s".
  const std::string& time_unit() const { return time_unit_; }
  // Returns a hash of the graph, the topology, all tables, constraints and the link mode.
  std::uint64_t hash() const { return hash_; }

  std::size_t node_count() const { return graph_->node_count(); }
  std::size_t tensor_count() const { return graph_->tensor_count(); }
  std::size_t device_count() const { return topology_->device_count(); }

  // --- compute ---
  // Returns the time of the node on the device; infinite if devices of this kind cannot run it.
  // Constraints are not taken into account.
  double compute_time(NodeId node, DeviceId device) const {
    return compute_[node.index() * columns_ + column_[device.index()]];
  }
  // Returns the node's row of the table, with column_count() entries; that of device d is
  // row[column(d)]. Devices of one kind share a column, unless the problem was corrected.
  const double* compute_row(NodeId node) const { return &compute_[node.index() * columns_]; }
  std::uint32_t column(DeviceId device) const { return column_[device.index()]; }
  std::size_t column_count() const { return columns_; }
  // Returns how many entries of the table, of a node on a kind of device, come from there.
  std::size_t times_from(TimeOrigin origin) const {
    return times_from_[static_cast<std::size_t>(origin)];
  }
  // Returns the least time over the devices on which the node is allowed.
  double least_compute_time(NodeId node) const { return least_compute_[node.index()]; }

  // --- flow ---
  // Return the edges of all outputs of a node, grouped by tensor, and those of one tensor.
  std::span<const Edge> edges_from(NodeId node) const {
    return {edges_.data() + node_edges_[node.index()],
            node_edges_[node.index() + 1] - node_edges_[node.index()]};
  }
  std::span<const Edge> edges_of(TensorId tensor) const {
    return {edges_.data() + tensor_edges_[tensor.index()], tensor_edge_count_[tensor.index()]};
  }
  // Returns the tensors that the node waits for, each once: those that a node produces or that have
  // a home.
  std::span<const TensorId> awaited(NodeId node) const { return awaited_[node.index()]; }
  // Returns the positions in edges() of what the node waits for, in the order of awaited().
  std::span<const std::uint32_t> awaited_edges(NodeId node) const {
    return awaited_edges_[node.index()];
  }
  // Returns all edges: first those of produced tensors by node, then those of homed() tensors.
  std::span<const Edge> edges() const { return edges_; }
  // Returns offsets such that edges_from(v) is edges()[offsets[v]] up to edges()[offsets[v + 1]].
  std::span<const std::uint32_t> edge_offsets() const { return node_edges_; }
  // Returns the inputs and parameters that have a home, by rising id.
  std::span<const TensorId> homed() const { return homed_; }
  DeviceId home(TensorId tensor) const { return home_[tensor.index()]; }  // invalid: anywhere
  // Returns the nodes that read the parameter which this tensor overwrites, if the parameter has no
  // home: the new value is also sent to every device on which one of them runs. Empty for tensors
  // that overwrite nothing.
  std::span<const NodeId> update_readers(TensorId tensor) const;
  bool has_updates() const { return has_updates_; }

  // --- transfers ---
  // Returns whether the tensor's transfers take latency + bytes / bandwidth rather than a time that
  // the graph gives.
  bool transfer_by_bytes(TensorId tensor) const { return by_bytes_[tensor.index()] != 0; }
  // Returns whether that is false for all tensors.
  bool all_transfers_given() const { return all_given_; }
  // Returns the figures of the route, after measured costs and corrections were applied.
  const Link& link(DeviceId from, DeviceId to) const {
    return link_classes_[link_class_[from.index() * device_count() + to.index()]];
  }
  // Returns the figures of the route as the topology has them, before anything was measured.
  const Link& topology_link(DeviceId from, DeviceId to) const {
    return topology_links_[link_class_[from.index() * device_count() + to.index()]];
  }
  // Returns the time of one transfer of an amount as in Edge. REQUIRES: from != to.
  double transfer_time(bool by_bytes, double amount, DeviceId from, DeviceId to) const {
    if (!by_bytes) return amount;
    const Link& l = link(from, to);
    return l.latency_seconds + amount / l.bandwidth;
  }
  double transfer_time(const Edge& edge, DeviceId from, DeviceId to) const {
    return transfer_time(transfer_by_bytes(edge.tensor), edge.amount, from, to);
  }
  // Returns the tensor's amount, bytes or time as in Edge, for transfers to no particular consumer.
  double tensor_amount(TensorId tensor) const { return tensor_amount_[tensor.index()]; }
  // Returns the channels that a transfer holds, each once. REQUIRES: links() is
  // LinkMode::kChannel.
  std::span<const ChannelId> route(DeviceId from, DeviceId to) const {
    return routes_[from.index() * device_count() + to.index()];
  }
  std::uint32_t channel_capacity(ChannelId channel) const {
    return channel_capacity_[channel.index()];
  }
  std::size_t channel_count() const { return channel_capacity_.size(); }

  // --- memory ---
  double bytes(TensorId tensor) const { return bytes_[tensor.index()]; }  // 0 where unknown
  // Returns the memory of a device; infinite if it is unlimited.
  double capacity_bytes(DeviceId device) const { return capacity_[device.index()]; }
  // Returns false if all tensors at once fit on every device, so that no placement can run out of
  // memory.
  bool memory_can_bind() const { return memory_can_bind_; }

  // --- constraints ---
  // A unit is what is placed as one: nodes that constraints colocate, directly or through others
  // (every other node is a unit of its own). Units are numbered by their lowest node.
  std::size_t unit_count() const { return units_.rows(); }
  std::uint32_t unit_of(NodeId node) const { return unit_of_[node.index()]; }
  // Returns the nodes of a unit by rising id.
  std::span<const NodeId> unit(std::uint32_t unit) const { return units_[unit]; }
  // Returns the devices that may run the node, by rising id; never empty. All nodes of a unit have
  // the same.
  std::span<const DeviceId> allowed_devices(NodeId node) const {
    return allowed_sets_[allowed_set_[node.index()]].devices;
  }
  bool allowed(NodeId node, DeviceId device) const {
    return allowed_sets_[allowed_set_[node.index()]].contains[device.index()] != 0;
  }
  // Returns whether any node may not run on all devices or is colocated with another.
  bool constrained() const { return allowed_sets_.size() > 1 || unit_count() < node_count(); }

 private:
  struct AllowedSet {
    std::vector<DeviceId> devices;
    std::vector<std::uint8_t> contains;  // by device
  };

  bool derived_only() const {
    return costs_ == CostSource::kRoofline || costs_ == CostSource::kPredicted;
  }
  // Returns whether any time of a node is in seconds whatever the unit of the graph.
  bool has_seconds() const {
    return times_from(TimeOrigin::kMeasured) + times_from(TimeOrigin::kPredicted) > 0;
  }

  void build_compute();
  void build_transfers();
  void build_links();
  void build_edges();
  void check_total() const;
  void build_memory(const graph::Constraints& extra);
  void build_constraints(const graph::Constraints& extra);
  void find_least_compute();
  void compute_hash();

  std::shared_ptr<const graph::Graph> graph_;
  std::shared_ptr<const device::Topology> topology_;
  LinkMode links_;
  LinkFigures link_figures_ = LinkFigures::kAchieved;
  CostSource costs_;  // the source of costs that are not measured
  Precision precision_;
  std::shared_ptr<const MeasuredCosts> measured_;
  bool corrected_ = false;
  std::string time_unit_;
  std::uint64_t hash_ = 0;

  std::size_t columns_ = 0;
  std::vector<std::uint32_t> column_;
  std::vector<double> compute_, least_compute_;
  std::array<std::size_t, kTimeOriginCount> times_from_ = {};  // by TimeOrigin

  std::vector<Edge> edges_;
  std::vector<std::uint32_t> node_edges_, tensor_edges_, tensor_edge_count_;
  Csr<TensorId> awaited_;
  Csr<std::uint32_t> awaited_edges_;
  std::vector<TensorId> homed_;
  std::vector<DeviceId> home_;
  bool has_updates_ = false;

  std::vector<std::uint8_t> by_bytes_;
  std::vector<double> tensor_amount_;
  bool all_given_ = true;
  std::vector<std::uint32_t> link_class_;
  std::vector<Link> link_classes_, topology_links_;  // by class
  Csr<ChannelId> routes_;
  std::vector<std::uint32_t> channel_capacity_;

  std::vector<double> bytes_, capacity_;
  bool memory_can_bind_ = false;

  Csr<NodeId> units_;
  std::vector<std::uint32_t> unit_of_;
  std::vector<AllowedSet> allowed_sets_;
  std::vector<std::uint32_t> allowed_set_;
};

}  // namespace doppler::cost
