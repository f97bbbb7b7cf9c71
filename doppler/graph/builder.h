// Builds a Graph and checks it: unique names, finite non-negative costs, ids that exist, no cycle.
// Every violation throws InputError that names the node or tensor. Callers that read a file catch
// it where they know the position, or add the file's name in front; what only build() can find is
// thrown as GraphError, which says whose place to look up.
//
// Not thread safe. build() may be called once.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/graph/graph.h"
#include "doppler/kernel/registry.h"

namespace doppler::graph {

// The graph as a whole is wrong, and the fault shows at this node or tensor (one id is valid).
class GraphError : public InputError {
 public:
  GraphError(NodeId at_node, const std::string& message) : InputError(message), node(at_node) {}
  GraphError(TensorId at_tensor, const std::string& message)
      : InputError(message), tensor(at_tensor) {}

  NodeId node;
  TensorId tensor;
};

struct NodeSpec {
  std::string name;
  std::string op = "op";
  std::string scope = {};                     // see Graph::scope; empty: not known
  std::optional<double> time = std::nullopt;  // in the graph's time unit
  std::vector<std::pair<std::string, double>> times_by_kind = {};
  std::optional<double> flops = std::nullopt;
  std::optional<double> bytes_read = std::nullopt;
  std::optional<double> bytes_written = std::nullopt;
  std::optional<kernel::KernelCall> kernel = std::nullopt;
  std::string meta_op = {};  // empty: none
  MetaRole meta_role = MetaRole::kShard;
};

struct TensorSpec {
  std::string name;
  TensorRole role = TensorRole::kValue;
  NodeId producer = {};  // valid exactly for kValue
  std::optional<double> bytes = std::nullopt;
  std::optional<double> transfer_time = std::nullopt;  // in the graph's time unit
  bool output = false;
  std::string home = {};  // inputs and parameters only; empty: anywhere
  TensorId updates = {};  // a parameter that this value overwrites
};

class GraphBuilder {
 public:
  // More than these is taken for a damaged count rather than a graph.
  static constexpr std::size_t kMaxNodes = 50'000'000;
  static constexpr std::size_t kMaxEdges = 500'000'000;

  void set_name(std::string name) { graph_.name_ = std::move(name); }
  void set_time_unit(std::string unit);
  void reserve(std::size_t nodes, std::size_t tensors, std::size_t edges);

  NodeId add_node(NodeSpec spec);
  TensorId add_tensor(TensorSpec spec);
  // For readers that meet a tensor before its producer. REQUIRES: the role is kValue. A producer's
  // outputs are in the order in which they were given to it, here or by add_tensor.
  void set_producer(TensorId tensor, NodeId producer);
  // For readers that meet a value before the parameter it overwrites.
  void set_updates(TensorId value, TensorId parameter);
  // Appends an operand to the consumer's inputs. A transfer time given here holds for this consumer
  // only; where one pair is connected more than once the largest counts.
  void connect(TensorId tensor, NodeId consumer,
               std::optional<double> transfer_time = std::nullopt);
  // Shorthand for the common case: the producer's only output, named like it.
  TensorId add_output(NodeId producer, std::optional<double> bytes,
                      std::optional<double> transfer_time = std::nullopt);

  Constraints& constraints() { return graph_.constraints_; }

  std::size_t node_count() const { return graph_.node_op_.size(); }
  std::size_t tensor_count() const { return graph_.tensor_role_.size(); }

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
};

// Whether the kernel calls of a graph are well-formed and fit its tensors.

// Sets the shape that the call has for each operand and result of the node. `known` has an entry
// per tensor, null where nothing is known. Throws GraphError where the call has another number of
// them than the node, or where a shape is not the known one.
void note_shapes(const Graph& graph, NodeId node, const kernel::KernelCall& call,
                 std::vector<const kernel::Shape*>& known);

// Throws GraphError at the first node whose call is ill-formed by the rules of its kernel, or does
// not fit the node's tensors as note_shapes says. Calls of kernels that are not in the registry are
// taken as they are.
void check_calls(const Graph& graph, const kernel::Registry& kernels);

}  // namespace doppler::graph
