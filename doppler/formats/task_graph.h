// Reading JSON that others write: keys that mean nothing here are passed over, and numbers may be
// written as strings.
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

// More nodes or edges than these are taken for a file that was made to fill the memory.
inline constexpr std::size_t kMaxForeignNodes = 20'000'000;
inline constexpr std::size_t kMaxForeignEdges = 50'000'000;

// A number, also where it stands in quotes. Throws InputError for anything else.
double read_number(JsonReader& reader);
// The same where it must not be negative; `what` names it in errors.
double read_quantity(JsonReader& reader, std::string_view what);
// A string or a number, as text: what formats take for identifiers.
std::string read_identifier(JsonReader& reader);
// true or false, 1 or 0.
bool read_flag(JsonReader& reader);

// Nodes and edges as most foreign formats have them, on their way to a Graph: an edge says how much
// it carries or how long that takes, and a node's result becomes one tensor, or one per size where
// its edges carry different sizes. Names are made unique. Not thread safe.

// What a result holds or takes to move, where its edges do not say.
struct TaskResult {
  std::optional<double> bytes = std::nullopt;
  std::optional<double> time = std::nullopt;
};

class TaskGraph {
 public:
  // Throws InputError with the place of an offset in the file.
  using Fail = std::function<void(std::size_t at, const std::string& message)>;

  explicit TaskGraph(Fail fail) : fail_(std::move(fail)) {}
  // For formats that are text.
  TaskGraph(const std::string& file, std::string_view text);

  // `at` is where the file has it. A name that is taken gets a number behind it.
  NodeId add(graph::NodeSpec spec, std::size_t at, TaskResult result = {});
  void connect(NodeId from, NodeId to, std::optional<double> bytes = std::nullopt,
               std::optional<double> time = std::nullopt);
  // A tensor of its own, beside what connect() makes; its name is made unique as well.
  TensorId add_tensor(graph::TensorSpec spec, std::size_t at);
  void read(NodeId node, TensorId tensor);
  // What the nodes need besides their inputs, from the start to the end.
  void add_parameter(std::string name, double bytes, const std::vector<NodeId>& readers);
  // The nodes share one device.
  void colocate(std::vector<NodeId> nodes);
  void set_result(NodeId node, TaskResult result) { nodes_[node.index()].result = result; }

  std::size_t size() const { return nodes_.size(); }
  std::size_t edge_count() const { return edges_.size(); }
  [[noreturn]] void fail_at(std::size_t at, const std::string& message) const;

  graph::Graph build(std::string name, std::string time_unit = {}) &&;

 private:
  // Puts a number behind a name that is taken, at least this one, and adds it.
  void add_numbered(NameIndex& names, std::size_t number, std::string& name);
  struct Node {
    std::size_t at;
    TaskResult result;
  };
  struct Edge {
    NodeId from, to;
    std::optional<double> bytes, time;
    TensorId tensor = {};
    bool own_time = false;  // the edges disagree on the transfer time, so each keeps its own
  };

  void add_results();
  void add_results_of(NodeId node, std::vector<Edge*>& edges);
  std::string result_name(NodeId node, std::size_t i);

  Fail fail_;
  graph::GraphBuilder builder_;
  NameIndex names_;  // of nodes; their numbers are ids
  NameIndex taken_;  // of tensors that are not named like a node
  std::unordered_map<std::string, std::size_t> next_number_;  // of names that came more than once
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<std::pair<NodeId, TensorId>> reads_;
};

}  // namespace doppler::formats
