#include "doppler/formats/task_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "doppler/base/csr.h"
#include "doppler/base/error.h"
#include "doppler/base/text.h"

namespace doppler::formats {

double read_number(JsonReader& reader) {
  if (reader.peek() != JsonReader::Kind::kString) return reader.number();
  const std::string_view text = reader.string_view();
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != end || !std::isfinite(value)) {
    reader.fail("expected a number");
  }
  return value;
}

double read_quantity(JsonReader& reader, std::string_view what) {
  const double value = read_number(reader);
  if (value < 0.0) reader.fail(fmt::format("{} must be a finite number >= 0", what));
  return value;
}

std::string read_identifier(JsonReader& reader) {
  if (reader.peek() == JsonReader::Kind::kNumber) return fmt::format("{}", reader.number());
  return reader.string();
}

bool read_flag(JsonReader& reader) {
  if (reader.peek() == JsonReader::Kind::kBool) return reader.boolean();
  const double value = reader.number();
  if (value != 0.0 && value != 1.0) reader.fail("expected true, false, 1 or 0");
  return value == 1.0;
}

TaskGraph::TaskGraph(const std::string& file, std::string_view text)
    : fail_([&file, text](std::size_t at, const std::string& message) {
        fail_at_offset(file, text, at, message);
      }) {}

void TaskGraph::fail_at(std::size_t at, const std::string& message) const {
  fail_(at, message);
  throw InputError(message);
}

void TaskGraph::add_numbered(NameIndex& names, std::size_t number, std::string& name) {
  // Goes on from the last number of this name, so that names that look numbered already are passed
  // over only once.
  std::size_t& next = next_number_[name];
  std::string numbered;
  for (next = std::max(next, number);; ++next) {
    numbered = fmt::format("{}#{}", name, next);
    if (names.add(numbered).is_new) break;
  }
  name = std::move(numbered);
}

NodeId TaskGraph::add(graph::NodeSpec spec, std::size_t at, TaskResult result) {
  if (spec.name.empty()) spec.name = fmt::format("node{}", nodes_.size());
  // The first of a name keeps it. Others get the number of nodes before them, which is stable.
  if (!names_.add(spec.name).is_new) add_numbered(names_, nodes_.size(), spec.name);
  nodes_.push_back({at, result});
  try {
    return builder_.add_node(std::move(spec));
  } catch (const InputError& error) {
    fail_at(at, error.what());
  }
}

void TaskGraph::connect(NodeId from, NodeId to, std::optional<double> bytes,
                        std::optional<double> time, std::optional<ElementType> type) {
  edges_.push_back({.from = from, .to = to, .bytes = bytes, .time = time, .type = type});
}

TensorId TaskGraph::add_tensor(graph::TensorSpec spec, std::size_t at) {
  if (spec.name.empty()) spec.name = "tensor";
  if (!taken_.add(spec.name).is_new) add_numbered(taken_, taken_.size(), spec.name);
  try {
    return builder_.add_tensor(std::move(spec));
  } catch (const InputError& error) {
    fail_at(at, error.what());
  }
}

void TaskGraph::read(NodeId node, TensorId tensor) {
  reads_.emplace_back(node, tensor);
}

void TaskGraph::add_parameter(std::string name, double bytes, const std::vector<NodeId>& readers) {
  const TensorId tensor =
      add_tensor({.name = std::move(name), .role = graph::TensorRole::kParameter, .bytes = bytes},
                 nodes_[readers.front().index()].at);
  for (const NodeId reader : readers) read(reader, tensor);
}

void TaskGraph::colocate(std::vector<NodeId> nodes) {
  if (nodes.size() > 1) builder_.constraints().colocated.push_back(std::move(nodes));
}

void TaskGraph::add_results() {
  for (Edge& edge : edges_) {
    const TaskResult& source = nodes_[edge.from.index()].result;
    if (!edge.time) edge.time = source.time;
    if (!edge.bytes) edge.bytes = source.bytes;
    if (!edge.type) edge.type = source.type;
  }
  const auto of_source = Csr<std::uint32_t>::build(nodes_.size(), [&](const auto& visit) {
    for (std::uint32_t e = 0; e < edges_.size(); ++e) visit(edges_[e].from.index(), e);
  });
  std::vector<Edge*> edges;
  for (std::size_t v = 0; v < nodes_.size(); ++v) {
    edges.clear();
    for (const std::uint32_t e : of_source[v]) edges.push_back(&edges_[e]);
    add_results_of(NodeId::of(v), edges);
  }
}

void TaskGraph::add_results_of(NodeId node, std::vector<Edge*>& edges) {
  struct Group {
    std::optional<double> bytes, time;
    std::optional<ElementType> type;
    bool same_time = true, same_type = true;
    TensorId tensor = {};
  };
  std::vector<Group> groups;
  std::map<std::optional<double>, std::size_t> group_of;
  for (const Edge* edge : edges) {
    const auto [entry, is_new] = group_of.try_emplace(edge->bytes, groups.size());
    if (is_new) groups.push_back({edge->bytes, edge->time, edge->type});
    Group& group = groups[entry->second];
    group.same_time &= group.time == edge->time;
    group.same_type &= group.type == edge->type;
  }
  const TaskResult& result = nodes_[node.index()].result;
  if (edges.empty() && (result.bytes || result.time)) {
    groups.push_back({result.bytes, result.time, result.type});
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Group& group = groups[i];
    group.tensor =
        builder_.add_tensor({.name = result_name(node, i),
                             .producer = node,
                             .bytes = group.bytes,
                             .type = group.same_type ? group.type : std::nullopt,
                             .transfer_time = group.same_time ? group.time : std::nullopt});
  }
  for (Edge* edge : edges) {
    const Group& group = groups[group_of.at(edge->bytes)];
    edge->tensor = group.tensor;
    edge->own_time = !group.same_time;
  }
}

// Returns the node's name for its first result, and a name with a number behind it for others.
std::string TaskGraph::result_name(NodeId node, std::size_t i) {
  const std::string name(names_.name(node.value()));
  if (i == 0 && !taken_.find(name)) return name;
  std::string numbered = fmt::format("{}.{}", name, i);
  while (names_.find(numbered) || !taken_.add(numbered).is_new) numbered += '\'';
  return numbered;
}

graph::Graph TaskGraph::build(std::string name, std::string time_unit) && {
  builder_.set_name(std::move(name));
  if (!time_unit.empty()) builder_.set_time_unit(std::move(time_unit));
  std::size_t at = 0;  // the position of the node that is being worked on
  try {
    add_results();
    for (const auto& [node, tensor] : reads_) {
      at = nodes_[node.index()].at;
      builder_.connect(tensor, node);
    }
    for (const Edge& edge : edges_) {
      at = nodes_[edge.to.index()].at;
      builder_.connect(edge.tensor, edge.to, edge.own_time ? edge.time : std::nullopt);
    }
    at = 0;
    return std::move(builder_).build();
  } catch (const graph::GraphError& error) {
    fail_at(error.node.valid() ? nodes_[error.node.index()].at : 0, error.what());
  } catch (const InputError& error) {
    fail_at(at, error.what());
  }
}

}  // namespace doppler::formats
