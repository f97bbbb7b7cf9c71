// A placement problem: graph + topology + cost tables + constraints + options, flat and immutable.
// Everything above cost/ consumes a Problem. Freely shared between threads.
#pragma once

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
#include "doppler/device/topology.h"
#include "doppler/graph/graph.h"

namespace doppler::cost {

struct Corrections;
struct MeasuredCosts;

enum class LinkMode : std::uint8_t {
  kFree,     // a transfer takes its time and holds nothing
  kChannel,  // a transfer holds one unit of every channel on its route
};

enum class CostSource : std::uint8_t {
  kAutomatic,  // `uniform:N`: given; else kind, class, roofline, single given time, in this order
  kGiven,      // times in the graph only
  kRoofline,   // flops and bytes only
  kMeasured,   // a profile, and kAutomatic for what it lacks
};

struct ProblemOptions {
  CostSource costs = CostSource::kAutomatic;
  // Of this graph. Comes before every other source, and makes `costs` that of what it lacks.
  std::shared_ptr<const MeasuredCosts> measured = nullptr;
  std::optional<LinkMode> links = std::nullopt;  // absent: free for `uniform`, else channel
  graph::Constraints constraints = {};           // added to those of the graph
};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Problem {
 public:
  // One (tensor, consumer) pair that takes part in the flow of time: the tensor has a producer or a
  // home. `amount` is the tensor's bytes where transfer_by_bytes(tensor), else the given time.
  struct Edge {
    NodeId consumer;
    TensorId tensor;
    double amount;
  };
  using Link = cost::Link;

  // Throws InputError where a cost is missing, a name unknown or measured costs are those of
  // another graph, ParameterError where kMeasured comes without any, InfeasibleError where
  // constraints contradict each other.
  Problem(std::shared_ptr<const graph::Graph> graph,
          std::shared_ptr<const device::Topology> topology, ProblemOptions options = {});

  // The same with other times: what runs say of the costs (calibration.h). Every device has a
  // column of its own then. REQUIRES: the corrections are for so many nodes and devices.
  std::shared_ptr<const Problem> corrected(const Corrections& corrections) const;

  const graph::Graph& graph() const { return *graph_; }
  const device::Topology& topology() const { return *topology_; }
  std::shared_ptr<const graph::Graph> shared_graph() const { return graph_; }
  std::shared_ptr<const device::Topology> shared_topology() const { return topology_; }
  LinkMode links() const { return links_; }
  CostSource costs() const { return measured_ ? CostSource::kMeasured : costs_; }
  const MeasuredCosts* measured() const { return measured_.get(); }  // null: none
  const std::string& time_unit() const { return time_unit_; }
  std::uint64_t hash() const { return hash_; }

  std::size_t node_count() const { return graph_->node_count(); }
  std::size_t tensor_count() const { return graph_->tensor_count(); }
  std::size_t device_count() const { return topology_->device_count(); }

  // --- compute ---
  // Infinite where a device of this kind cannot run the node. Says nothing of constraints.
  double compute_time(NodeId node, DeviceId device) const {
    return compute_[node.index() * columns_ + column_[device.index()]];
  }
  // The row of a node in the table; its entry for device d is row[column(d)].
  const double* compute_row(NodeId node) const { return &compute_[node.index() * columns_]; }
  std::uint32_t column(DeviceId device) const { return column_[device.index()]; }
  std::size_t column_count() const { return columns_; }
  // The least over the devices that the node is allowed on.
  double least_compute_time(NodeId node) const { return least_compute_[node.index()]; }

  // --- flow ---
  // Edges out of a node, grouped by tensor; and of one tensor.
  std::span<const Edge> edges_from(NodeId node) const {
    return {edges_.data() + node_edges_[node.index()],
            node_edges_[node.index() + 1] - node_edges_[node.index()]};
  }
  std::span<const Edge> edges_of(TensorId tensor) const {
    return {edges_.data() + tensor_edges_[tensor.index()], tensor_edge_count_[tensor.index()]};
  }
  // Tensors that each node waits for: produced by a node, or with a home.
  std::span<const TensorId> awaited(NodeId node) const { return awaited_[node.index()]; }
  // Edge positions in edges() of what each node waits for, parallel to awaited().
  std::span<const std::uint32_t> awaited_edges(NodeId node) const {
    return awaited_edges_[node.index()];
  }
  std::span<const Edge> edges() const { return edges_; }
  // edges_from(v) is edges()[edge_offsets()[v]] up to edge_offsets()[v + 1].
  std::span<const std::uint32_t> edge_offsets() const { return node_edges_; }
  // Inputs and parameters with a home, and where that is.
  std::span<const TensorId> homed() const { return homed_; }
  DeviceId home(TensorId tensor) const { return home_[tensor.index()]; }  // invalid: anywhere
  // The value an update delivers is also sent to every device that reads this parameter, where the
  // parameter has no home. Empty for tensors that update nothing.
  std::span<const NodeId> update_readers(TensorId tensor) const;
  bool has_updates() const { return has_updates_; }

  // --- transfers ---
  bool transfer_by_bytes(TensorId tensor) const { return by_bytes_[tensor.index()] != 0; }
  bool all_transfers_given() const { return all_given_; }
  const Link& link(DeviceId from, DeviceId to) const {
    return link_classes_[link_class_[from.index() * device_count() + to.index()]];
  }
  // The same before anything was measured.
  const Link& topology_link(DeviceId from, DeviceId to) const {
    return topology_links_[link_class_[from.index() * device_count() + to.index()]];
  }
  // The time of one transfer from -> to. REQUIRES: from != to.
  double transfer_time(bool by_bytes, double amount, DeviceId from, DeviceId to) const {
    if (!by_bytes) return amount;
    const Link& l = link(from, to);
    return l.latency_seconds + amount / l.bandwidth;
  }
  double transfer_time(const Edge& edge, DeviceId from, DeviceId to) const {
    return transfer_time(transfer_by_bytes(edge.tensor), edge.amount, from, to);
  }
  // What the tensor's transfers need where no consumer says otherwise (bytes or time).
  double tensor_amount(TensorId tensor) const { return tensor_amount_[tensor.index()]; }
  // Channels from -> to, each once. Filled only for LinkMode::kChannel.
  std::span<const ChannelId> route(DeviceId from, DeviceId to) const {
    return routes_[from.index() * device_count() + to.index()];
  }
  std::uint32_t channel_capacity(ChannelId channel) const {
    return channel_capacity_[channel.index()];
  }
  std::size_t channel_count() const { return channel_capacity_.size(); }

  // --- memory ---
  double bytes(TensorId tensor) const { return bytes_[tensor.index()]; }  // 0 where unknown
  double capacity_bytes(DeviceId device) const { return capacity_[device.index()]; }
  // False where everything at once fits on every device, so that no placement can run out.
  bool memory_can_bind() const { return memory_can_bind_; }

  // --- constraints ---
  // Colocated nodes form one unit; every other node is a unit of its own.
  std::size_t unit_count() const { return units_.rows(); }
  std::uint32_t unit_of(NodeId node) const { return unit_of_[node.index()]; }
  std::span<const NodeId> unit(std::uint32_t unit) const { return units_[unit]; }
  // Devices that may run the node, by rising id; never empty. The same for all nodes of a unit.
  std::span<const DeviceId> allowed_devices(NodeId node) const {
    return allowed_sets_[allowed_set_[node.index()]].devices;
  }
  bool allowed(NodeId node, DeviceId device) const {
    return allowed_sets_[allowed_set_[node.index()]].contains[device.index()] != 0;
  }
  bool constrained() const { return allowed_sets_.size() > 1 || unit_count() < node_count(); }

 private:
  struct AllowedSet {
    std::vector<DeviceId> devices;
    std::vector<std::uint8_t> contains;  // by device
  };

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
  CostSource costs_;  // of what is not measured
  std::shared_ptr<const MeasuredCosts> measured_;
  bool corrected_ = false;
  std::string time_unit_;
  std::uint64_t hash_ = 0;

  std::size_t columns_ = 0;
  std::vector<std::uint32_t> column_;
  std::vector<double> compute_, least_compute_;
  bool compute_given_ = false, compute_derived_ = false;  // which sources were used

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
