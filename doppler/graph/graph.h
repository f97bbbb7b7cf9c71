// The dataflow graph: nodes (kernel calls) that read and write tensors, with the costs that its
// file gives and the constraints that it puts on every placement.
//
// A tensor has one producer, or none where it is an input or a parameter of the graph, and any
// number of consumers. Node and tensor ids are dense and in the order in which they were added.
// A quantity that is not known (a time, flops, bytes) is absent, never zero: cost/ decides what an
// absence means.
//
// A Graph is built and checked by GraphBuilder. It is immutable, so threads share it freely.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doppler/base/csr.h"
#include "doppler/base/element_type.h"
#include "doppler/base/id.h"
#include "doppler/kernel/kernel_call.h"
#include "doppler/kernel/work.h"

namespace doppler::graph {

// Demands that a graph's file makes of every placement. Devices are given by name, since a graph
// does not know on which topology it will be placed; cost::Problem resolves the names.
struct Constraints {
  struct NodeDevice {
    NodeId node;
    std::string device;
  };
  struct DeviceMemory {
    std::string device;
    std::uint64_t bytes;
  };

  std::vector<NodeDevice> pins;                // the node runs on this device
  std::vector<NodeDevice> forbids;             // the node does not run on this device
  std::vector<std::vector<NodeId>> colocated;  // the nodes of a class share one device
  std::vector<DeviceMemory> memory;            // replaces the capacity in the topology

  bool empty() const {
    return pins.empty() && forbids.empty() && colocated.empty() && memory.empty();
  }
};

enum class TensorRole : std::uint8_t {
  kValue,      // produced by a node
  kInput,      // given at the start, needed until its last use
  kParameter,  // given at the start, kept to the end
};

// The part that a node plays in a sharded operation (a meta-op): one of its shards, or one of the
// reductions that combine the results of the shards.
enum class MetaRole : std::uint8_t { kShard, kReduction };

// The meta-op that a node belongs to, and its part there.
struct MetaMembership {
  std::uint32_t meta_op;  // index into Graph::meta_op_names()
  MetaRole role;
};

// A node's time on devices of one kind ("A100") or class ("accelerator"), in the graph's time unit.
// The name of the kind or class is Graph::time_kind_names()[kind].
struct TimeForKind {
  std::uint32_t kind;
  double time;
};

// Views that the accessors return are valid as long as the graph. Ids must be those of this graph:
// they are not checked.
class Graph {
 public:
  const std::string& name() const { return name_; }
  // Returns the unit of all given times: "s" unless the graph names its own.
  const std::string& time_unit() const { return time_unit_; }
  // Returns a hash of the structure, the node names, the costs and the constraints. The graph's own
  // name, scopes, tensor names, element types, works and kernel calls are not part of it.
  std::uint64_t hash() const { return hash_; }

  std::size_t node_count() const { return node_op_.size(); }
  std::size_t tensor_count() const { return tensor_role_.size(); }
  // Returns the number of distinct (tensor, consumer) pairs whose tensor has a producer.
  std::size_t edge_count() const { return edge_count_; }

  // --- nodes ---
  std::string_view node_name(NodeId node) const { return text(node_names_, node.index()); }
  std::string_view op_kind(NodeId node) const { return op_kinds_[node_op_[node.index()]]; }
  std::uint32_t op_kind_index(NodeId node) const { return node_op_[node.index()]; }
  std::span<const std::string> op_kinds() const { return op_kinds_; }
  // Returns the node's place in the model, outermost part first: "transformer/layer_3/attention".
  // It is for people only, so not part of the hash, and empty where nothing is known.
  std::string_view scope(NodeId node) const {
    return node.index() < node_scope_.size() ? scopes_[node_scope_[node.index()]]
                                             : std::string_view();
  }
  std::optional<double> given_time(NodeId node) const { return known(node_time_[node.index()]); }
  std::span<const TimeForKind> times_by_kind(NodeId node) const {
    return node_times_[node.index()];
  }
  std::span<const std::string> time_kind_names() const { return time_kinds_; }
  std::optional<double> flops(NodeId node) const { return known(node_flops_[node.index()]); }
  std::optional<double> bytes_read(NodeId node) const { return known(node_read_[node.index()]); }
  std::optional<double> bytes_written(NodeId node) const {
    return known(node_written_[node.index()]);
  }
  // Returns the kernels that the node runs, one after another; empty where no more is known than
  // the node's flops and bytes.
  std::span<const kernel::Work> works(NodeId node) const {
    if (node.index() >= node_works_.size()) return {};
    return work_lists_[node_works_[node.index()]];
  }
  // Returns whether any node has works or any tensor an element type.
  bool has_works_or_types() const { return !node_works_.empty() || !tensor_type_.empty(); }
  // Returns null if the node carries no kernel call. Takes time logarithmic in the number of calls.
  const kernel::KernelCall* kernel_call(NodeId node) const;
  std::optional<MetaMembership> meta_op(NodeId node) const;
  std::span<const std::string> meta_op_names() const { return meta_ops_; }
  // Return the operands and the results in order. An operand may occur more than once.
  std::span<const TensorId> inputs(NodeId node) const { return node_inputs_[node.index()]; }
  std::span<const TensorId> outputs(NodeId node) const { return node_outputs_[node.index()]; }

  // --- tensors ---
  std::string_view tensor_name(TensorId tensor) const {
    return text(tensor_names_, tensor.index());
  }
  TensorRole role(TensorId tensor) const { return tensor_role_[tensor.index()]; }
  // Returns an invalid id for inputs and parameters.
  NodeId producer(TensorId tensor) const { return tensor_producer_[tensor.index()]; }
  std::optional<double> bytes(TensorId tensor) const {
    return known(tensor_bytes_[tensor.index()]);
  }
  // Returns the type of the tensor's elements, or nothing if it is not known.
  std::optional<ElementType> element_type(TensorId tensor) const {
    if (tensor.index() >= tensor_type_.size() || tensor_type_[tensor.index()] == kNoType) {
      return std::nullopt;
    }
    return static_cast<ElementType>(tensor_type_[tensor.index()]);
  }
  // Returns the transfer time given for the tensor, in the graph's time unit. A time that is given
  // for one consumer takes precedence over it.
  std::optional<double> transfer_time(TensorId tensor) const {
    return known(tensor_time_[tensor.index()]);
  }
  // Returns each node that reads the tensor, once, by rising id.
  std::span<const NodeId> consumers(TensorId tensor) const { return consumers_[tensor.index()]; }
  // Returns the given transfer time to the i-th of consumers(tensor): the time given for this
  // consumer, else the tensor's, else nothing.
  std::optional<double> transfer_time(TensorId tensor, std::size_t i) const;
  // Returns the transfer time given for the i-th consumer, without falling back on the tensor's.
  std::optional<double> consumer_transfer_time(TensorId tensor, std::size_t i) const {
    if (consumer_time_.empty()) return std::nullopt;
    return known(consumer_time_[consumers_.offset(tensor.index()) + i]);
  }
  bool is_output(TensorId tensor) const { return tensor_output_[tensor.index()] != 0; }
  // Returns the name of the device on which an input or parameter starts; empty means anywhere.
  std::string_view home(TensorId tensor) const;
  // Returns the parameter that this tensor overwrites with a new value; an invalid id if it
  // overwrites none.
  TensorId updates(TensorId tensor) const { return tensor_updates_[tensor.index()]; }

  // --- the whole ---
  // Returns every node after the producers of its inputs; among ready nodes the lowest id first.
  std::span<const NodeId> topological_order() const { return order_; }
  const Constraints& constraints() const { return constraints_; }

  // Returns the node of this name, or nothing. Takes time logarithmic in the number of nodes.
  std::optional<NodeId> find_node(std::string_view name) const;

 private:
  friend class GraphBuilder;
  Graph() = default;

  // Names in one block of characters; ends[i] is the offset behind the i-th name.
  struct NameTable {
    std::string characters;
    std::vector<std::uint64_t> ends;
  };
  static std::string_view text(const NameTable& table, std::size_t i) {
    const std::uint64_t begin = i == 0 ? 0 : table.ends[i - 1];
    return std::string_view(table.characters).substr(begin, table.ends[i] - begin);
  }
  static constexpr double kUnknown = -1.0;  // all known quantities are >= 0
  static std::optional<double> known(double stored) {
    return stored < 0.0 ? std::nullopt : std::optional<double>(stored);
  }

  std::string name_;
  std::string time_unit_ = "s";
  std::uint64_t hash_ = 0;
  std::size_t edge_count_ = 0;

  NameTable node_names_;
  std::vector<std::uint32_t> nodes_by_name_;  // node indices sorted by name
  std::vector<std::uint32_t> node_op_;
  std::vector<std::string> op_kinds_;
  // By node: an index into scopes_. Nodes past the end of the list have no scope.
  std::vector<std::uint32_t> node_scope_;
  std::vector<std::string> scopes_;  // the first is empty
  // By node: an index into work_lists_, of which the first is empty and no two are equal. Nodes
  // past the end of the list have none.
  std::vector<std::uint32_t> node_works_;
  std::vector<std::vector<kernel::Work>> work_lists_;
  std::vector<double> node_time_, node_flops_, node_read_, node_written_;
  Csr<TimeForKind> node_times_;
  std::vector<std::string> time_kinds_;
  std::vector<std::pair<std::uint32_t, kernel::KernelCall>> kernel_calls_;  // sorted by node
  std::vector<MetaMembership> node_meta_;  // meta_op is kNoMeta where there is none; may be empty
  std::vector<std::string> meta_ops_;
  Csr<TensorId> node_inputs_, node_outputs_;

  NameTable tensor_names_;
  std::vector<TensorRole> tensor_role_;
  std::vector<NodeId> tensor_producer_;
  std::vector<double> tensor_bytes_, tensor_time_;
  // By tensor: an ElementType or kNoType. Tensors past the end of the list have none.
  std::vector<std::uint8_t> tensor_type_;
  Csr<NodeId> consumers_;
  std::vector<double> consumer_time_;  // parallel to consumers_; empty where none is given
  std::vector<std::uint8_t> tensor_output_;
  std::vector<std::pair<std::uint32_t, std::string>> homes_;  // sorted by tensor
  std::vector<TensorId> tensor_updates_;

  std::vector<NodeId> order_;
  Constraints constraints_;

  static constexpr std::uint32_t kNoMeta = 0xffffffffu;
  static constexpr std::uint8_t kNoType = 0xff;
};

}  // namespace doppler::graph
