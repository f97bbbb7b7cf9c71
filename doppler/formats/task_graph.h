// The common parts of the readers of foreign task graphs: values of JSON that other programs write,
// and TaskGraph, in which nodes and edges are collected on their way to a Graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "doppler/base/json_reader.h"
#include "doppler/base/names.h"
#include "doppler/graph/builder.h"
#include "doppler/graph/graph.h"

namespace doppler::formats {

// The largest numbers of nodes and edges. A file with more is taken to be made to fill the memory.
inline constexpr std::size_t kMaxForeignNodes = 20'000'000;
inline constexpr std::size_t kMaxForeignEdges = 50'000'000;

// Reads a finite number, which may be in quotes. Throws InputError for anything else.
double read_number(JsonReader& reader);
// Reads such a number and throws InputError, naming it by `what`, if it is negative.
double read_quantity(JsonReader& reader, std::string_view what);
// Reads a string or a number and returns it as text, since formats use both as identifiers.
std::string read_identifier(JsonReader& reader);
// Reads true or false, 1 or 0.
bool read_flag(JsonReader& reader);

// The size of a node's result, the time to move it and the type of its elements, for edges that do
// not say.
struct TaskResult {
  std::optional<double> bytes = std::nullopt;
  std::optional<double> time = std::nullopt;  // in the graph's time unit
  std::optional<ElementType> type = std::nullopt;
};

// Nodes and edges as most foreign formats have them: an edge says how much it carries or how long
// that takes. A node's result becomes one tensor, or one for each size if its edges carry different
// sizes. Names are made unique. Positions `at` are offsets in the file. Not thread safe.
class TaskGraph {
 public:
  // Throws InputError with the position of an offset in the file.
  using Fail = std::function<void(std::size_t at, const std::string& message)>;

  explicit TaskGraph(Fail fail) : fail_(std::move(fail)) {}
  // Reports errors at positions of a text. Both arguments must outlive this.
  TaskGraph(const std::string& file, std::string_view text);

  // Adds a node. If its name is taken, a number is put behind it.
  NodeId add(graph::NodeSpec spec, std::size_t at, TaskResult result = {});
  // Adds an edge, which carries `bytes` of elements of a type, or takes `time`; what is absent is
  // as the node's result has it. A tensor for which edges give several types has none.
  void connect(NodeId from, NodeId to, std::optional<double> bytes = std::nullopt,
               std::optional<double> time = std::nullopt,
               std::optional<ElementType> type = std::nullopt);
  // Adds a tensor besides those that edges make. If its name is taken, a number is put behind it.
  TensorId add_tensor(graph::TensorSpec spec, std::size_t at);
  // Makes a node read a tensor that add_tensor() returned.
  void read(NodeId node, TensorId tensor);
  // Adds data that these nodes read and that stays in memory from start to end. REQUIRES: there is
  // a reader.
  void add_parameter(std::string name, double bytes, const std::vector<NodeId>& readers);
  // Makes the nodes share one device.
  void colocate(std::vector<NodeId> nodes);

  std::size_t size() const { return nodes_.size(); }
  std::size_t edge_count() const { return edges_.size(); }
  // Throws InputError with the position of `at`.
  [[noreturn]] void fail_at(std::size_t at, const std::string& message) const;

  // Returns the graph; may be called once. Throws InputError with the position of the node.
  graph::Graph build(std::string name, std::string time_unit = {}) &&;

 private:
  // Puts a free number, at least this one, behind a name that is taken, and takes the result.
  void add_numbered(NameIndex& names, std::size_t number, std::string& name);
  struct Node {
    std::size_t at;
    TaskResult result;
  };
  struct Edge {
    NodeId from, to;
    std::optional<double> bytes, time;
    std::optional<ElementType> type;
    TensorId tensor = {};
    bool own_time = false;  // the edges disagree on the transfer time, so each keeps its own
  };

  void add_results();
  void add_results_of(NodeId node, std::vector<Edge*>& edges);
  std::string result_name(NodeId node, std::size_t i);

  Fail fail_;
  graph::GraphBuilder builder_;
  NameIndex names_;  // the names of nodes; their numbers are ids
  NameIndex taken_;  // the names of tensors that are not named like a node
  std::unordered_map<std::string, std::size_t> next_number_;  // by name that is taken
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<std::pair<NodeId, TensorId>> reads_;
};

}  // namespace doppler::formats
