// Construction and checking of graphs: GraphBuilder makes a Graph from nodes, tensors and
// connections, and check_calls() compares the kernel calls of a finished graph with its tensors.
//
// A graph that was built has unique names, finite non-negative costs, ids that exist and no cycle.
// Every violation throws an InputError that names the node or tensor. A reader of files catches it
// where it knows the position in the file, or puts the file's name in front of the message. What
// only build() or check_calls() can find is thrown as GraphError, which carries the id of the node
// or tensor, so that the reader can look up its position.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/graph/graph.h"
#include "doppler/kernel/registry.h"

namespace doppler::graph {

// An error that shows only in the graph as a whole. Exactly one of the two ids is valid: the node
// or the tensor at which the fault shows.
class GraphError : public InputError {
 public:
  GraphError(NodeId at_node, const std::string& message) : InputError(message), node(at_node) {}
  GraphError(TensorId at_tensor, const std::string& message)
      : InputError(message), tensor(at_tensor) {}

  NodeId node;
  TensorId tensor;
};

// A node to be added. Quantities that are absent are unknown, which is not the same as zero.
struct NodeSpec {
  std::string name;
  std::string op = "op";
  std::string scope = {};                     // see Graph::scope; empty: not known
  std::optional<double> time = std::nullopt;  // in the graph's time unit
  // Times on devices of one kind or class, in the graph's time unit; each name once.
  std::vector<std::pair<std::string, double>> times_by_kind = {};
  std::optional<double> flops = std::nullopt;
  std::optional<double> bytes_read = std::nullopt;
  std::optional<double> bytes_written = std::nullopt;
  std::vector<kernel::Work> works = {};  // see Graph::works()
  std::optional<kernel::KernelCall> kernel = std::nullopt;
  std::string meta_op = {};  // empty: none
  MetaRole meta_role = MetaRole::kShard;
};

// A tensor to be added. A tensor without a name gets one from its id.
struct TensorSpec {
  std::string name;
  TensorRole role = TensorRole::kValue;
  NodeId producer = {};  // only for kValue; may also be set later by set_producer()
  std::optional<double> bytes = std::nullopt;
  std::optional<ElementType> type = std::nullopt;
  std::optional<double> transfer_time = std::nullopt;  // in the graph's time unit
  bool output = false;
  std::string home = {};  // inputs and parameters only; empty: anywhere
  TensorId updates = {};  // a parameter that this value overwrites
};

// Collects nodes, tensors and connections, and turns them into a Graph. Not thread safe; build()
// may be called once.
class GraphBuilder {
 public:
  // The largest numbers of nodes (or tensors) and of edges. A file that has more is taken to be
  // damaged: adding throws InputError.
  static constexpr std::size_t kMaxNodes = 50'000'000;
  static constexpr std::size_t kMaxEdges = 500'000'000;

  void set_name(std::string name) { graph_.name_ = std::move(name); }
  void set_time_unit(std::string unit);
  void reserve(std::size_t nodes, std::size_t tensors, std::size_t edges);

  NodeId add_node(NodeSpec spec);
  TensorId add_tensor(TensorSpec spec);
  // Makes `tensor` the next output of `producer`, for readers that meet a tensor before its
  // producer. A producer's outputs are in the order in which they were given to it, here or by
  // add_tensor(). Throws InputError if the tensor has a producer already or is not a kValue.
  void set_producer(TensorId tensor, NodeId producer);
  // Declares that `value` overwrites `parameter`, for readers that meet the value first. Throws
  // InputError unless the roles are kValue and kParameter.
  void set_updates(TensorId value, TensorId parameter);
  // Appends an operand to the consumer's inputs. A transfer time given here holds for this consumer
  // only; where one pair is connected more than once, the largest counts.
  void connect(TensorId tensor, NodeId consumer,
               std::optional<double> transfer_time = std::nullopt);
  // Adds an output of `producer` that is named like it: the common case of a node with one output.
  TensorId add_output(NodeId producer, std::optional<double> bytes,
                      std::optional<double> transfer_time = std::nullopt);

  // Gives access to the constraints of the graph to be; build() checks them.
  Constraints& constraints() { return graph_.constraints_; }

  std::size_t node_count() const { return graph_.node_op_.size(); }
  std::size_t tensor_count() const { return graph_.tensor_role_.size(); }

  // Checks everything and returns the graph. Throws GraphError for a repeated name, a value without
  // a producer, a cycle, or quantities whose sum is too large to compute with, and InputError for a
  // constraint on a node that does not exist.
  Graph build() &&;

 private:
  struct Edge {
    TensorId tensor;
    NodeId consumer;
    double transfer_time;
  };

  std::uint32_t intern(std::vector<std::string>& names,
                       std::unordered_map<std::string, std::uint32_t>& index,
                       const std::string& name);
  void check_node(NodeId node, const char* what) const;
  void check_tensor(TensorId tensor, const char* what) const;
  void check_names() const;
  void check_totals() const;
  void build_edges();
  void order_nodes();
  void compute_hash();

  Graph graph_;
  std::vector<Edge> edges_;
  std::vector<std::pair<NodeId, TensorId>> produced_;  // in the order given
  std::vector<std::pair<NodeId, TimeForKind>> times_;
  std::unordered_map<std::string, std::uint32_t> op_index_, kind_index_, meta_index_, scope_index_;
  std::map<std::vector<kernel::Work>, std::uint32_t> work_index_;
};

// Records in `known` the shape that the call has for each operand and result of the node. `known`
// has an entry for each tensor of the graph, null where no shape is known yet, and afterwards
// points into `call`. Throws GraphError if the call has another number of operands or results than
// the node, or if a shape differs from the known one.
void note_shapes(const Graph& graph, NodeId node, const kernel::KernelCall& call,
                 std::vector<const kernel::Shape*>& known);

// Throws GraphError at the first node whose call breaks the rules of its kernel or does not fit the
// node's tensors (see note_shapes). Calls of kernels that the registry does not have are not
// checked.
void check_calls(const Graph& graph, const kernel::Registry& kernels);

}  // namespace doppler::graph
