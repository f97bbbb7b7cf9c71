#include "doppler/graph/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <span>

#include "doppler/base/error.h"
#include "doppler/base/hash.h"
#include "doppler/base/names.h"
#include "doppler/kernel/kernel_call.h"

namespace doppler::graph {

namespace {

// Returns the quantity as Graph stores it: -1 where it is absent. Throws InputError, naming the
// node or tensor `owner`, if it is negative or not finite.
double checked(const std::optional<double>& value, const char* what, const char* kind,
               const std::string& owner) {
  if (!value) return -1.0;
  if (!std::isfinite(*value) || *value < 0.0) {
    throw InputError(fmt::format("{} '{}': {} must be a finite number >= 0", kind, owner, what));
  }
  return *value == 0.0 ? 0.0 : *value;  // no negative zero
}

// Throws InputError, naming the node, if a number is out of range.
void check_work(const kernel::Work& work, const std::string& node) {
  if (kernel::is_in_range(work)) return;
  const std::pair<const char*, double> numbers[] = {
      {"count", work.count},
      {"batch", work.batch},
      {"rows", work.rows},
      {"columns", work.columns},
      {"depth", work.depth},
      {"flops", work.flops.value_or(0.0)},
      {"bytes_read", work.bytes_read.value_or(0.0)},
      {"bytes_written", work.bytes_written.value_or(0.0)}};
  for (const auto& [what, number] : numbers) {
    if (!(number >= 0.0 && number <= kernel::kLargestOfWork)) {
      throw InputError(fmt::format("node '{}': the {} of its work must be from 0 to {}", node, what,
                                   kernel::kLargestOfWork));
    }
  }
  throw InputError(
      fmt::format("node '{}': the count and batch of its work must be at least 1", node));
}

// Records the shapes of the operands or of the results ("inputs" or "outputs") of a node's call.
void note(const Graph& graph, NodeId node, std::span<const TensorId> tensors,
          std::span<const kernel::Shape> shapes, const char* what,
          std::vector<const kernel::Shape*>& known) {
  if (tensors.size() != shapes.size()) {
    throw GraphError(node, fmt::format("node '{}': its kernel call has {} {}, but the node has {}",
                                       graph.node_name(node), shapes.size(), what, tensors.size()));
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const kernel::Shape*& shape = known[tensors[i].index()];
    if (!shape) shape = &shapes[i];
    if (*shape != shapes[i]) {
      throw GraphError(node, fmt::format("node '{}': takes tensor '{}' as {}, but another call has "
                                         "it as {}",
                                         graph.node_name(node), graph.tensor_name(tensors[i]),
                                         kernel::to_text(shapes[i]), kernel::to_text(*shape)));
    }
  }
}

}  // namespace

void GraphBuilder::set_time_unit(std::string unit) {
  if (unit.empty() || unit.size() > 32)
    throw InputError("the time unit must have 1 to 32 characters");
  graph_.time_unit_ = std::move(unit);
}

void GraphBuilder::reserve(std::size_t nodes, std::size_t tensors, std::size_t edges) {
  Graph& g = graph_;
  for (auto* column : {&g.node_time_, &g.node_flops_, &g.node_read_, &g.node_written_}) {
    column->reserve(nodes);
  }
  g.node_op_.reserve(nodes);
  for (auto* column : {&g.tensor_bytes_, &g.tensor_time_}) column->reserve(tensors);
  g.tensor_producer_.reserve(tensors);
  produced_.reserve(tensors);
  edges_.reserve(edges);
}

std::uint32_t GraphBuilder::intern(std::vector<std::string>& names,
                                   std::unordered_map<std::string, std::uint32_t>& index,
                                   const std::string& name) {
  const auto [entry, added] = index.try_emplace(name, static_cast<std::uint32_t>(names.size()));
  if (added) names.push_back(name);
  return entry->second;
}

NodeId GraphBuilder::add_node(NodeSpec spec) {
  Graph& g = graph_;
  if (spec.name.empty()) throw InputError(fmt::format("node {} has no name", node_count()));
  if (node_count() >= kMaxNodes) throw InputError(fmt::format("more than {} nodes", kMaxNodes));
  const NodeId node = NodeId::of(node_count());
  const auto quantity = [&](const std::optional<double>& value, const char* what) {
    return checked(value, what, "node", spec.name);
  };
  const double time = quantity(spec.time, "time");
  const double flops = quantity(spec.flops, "flops");
  const double read = quantity(spec.bytes_read, "bytes_read");
  const double written = quantity(spec.bytes_written, "bytes_written");
  for (const kernel::Work& work : spec.works) check_work(work, spec.name);
  for (const auto& [kind, kind_time] : spec.times_by_kind) {
    const double checked_time = quantity(kind_time, "time");
    const std::uint32_t index = intern(g.time_kinds_, kind_index_, kind);
    for (auto it = times_.rbegin(); it != times_.rend() && it->first == node; ++it) {
      if (it->second.kind == index) {
        throw InputError(fmt::format("node '{}': two times for kind '{}'", spec.name, kind));
      }
    }
    times_.push_back({node, {index, checked_time}});
  }
  g.node_names_.characters += spec.name;
  g.node_names_.ends.push_back(g.node_names_.characters.size());
  g.node_op_.push_back(intern(g.op_kinds_, op_index_, spec.op.empty() ? "op" : spec.op));
  if (!spec.scope.empty()) {
    if (g.scopes_.empty()) intern(g.scopes_, scope_index_, "");
    g.node_scope_.resize(node.index(), 0);
    g.node_scope_.push_back(intern(g.scopes_, scope_index_, spec.scope));
  }
  g.node_time_.push_back(time);
  g.node_flops_.push_back(flops);
  g.node_read_.push_back(read);
  g.node_written_.push_back(written);
  if (!spec.works.empty()) {
    if (g.work_lists_.empty()) g.work_lists_.emplace_back();
    const auto [entry, added] =
        work_index_.try_emplace(spec.works, static_cast<std::uint32_t>(g.work_lists_.size()));
    if (added) g.work_lists_.push_back(std::move(spec.works));
    g.node_works_.resize(node.index(), 0);
    g.node_works_.push_back(entry->second);
  }
  if (spec.kernel) g.kernel_calls_.emplace_back(node.value(), std::move(*spec.kernel));
  if (!spec.meta_op.empty()) {
    g.node_meta_.resize(node.index(), {Graph::kNoMeta, MetaRole::kShard});
    g.node_meta_.push_back({intern(g.meta_ops_, meta_index_, spec.meta_op), spec.meta_role});
  }
  return node;
}

TensorId GraphBuilder::add_tensor(TensorSpec spec) {
  Graph& g = graph_;
  if (tensor_count() >= kMaxNodes) throw InputError(fmt::format("more than {} tensors", kMaxNodes));
  if (spec.name.empty()) spec.name = fmt::format("tensor{}", tensor_count());
  const bool produced = spec.role == TensorRole::kValue;
  if (spec.producer.valid()) {
    if (!produced) {
      throw InputError(
          fmt::format("tensor '{}': an input or parameter has no producer", spec.name));
    }
    check_node(spec.producer, spec.name.c_str());
  }
  if (produced && !spec.home.empty()) {
    throw InputError(
        fmt::format("tensor '{}': only an input or parameter can have a home", spec.name));
  }
  const TensorId tensor = TensorId::of(tensor_count());
  const double bytes = checked(spec.bytes, "bytes", "tensor", spec.name);
  const double time = checked(spec.transfer_time, "transfer time", "tensor", spec.name);
  g.tensor_names_.characters += spec.name;
  g.tensor_names_.ends.push_back(g.tensor_names_.characters.size());
  g.tensor_role_.push_back(spec.role);
  g.tensor_producer_.push_back(spec.producer);
  if (spec.producer.valid()) produced_.emplace_back(spec.producer, tensor);
  g.tensor_bytes_.push_back(bytes);
  g.tensor_time_.push_back(time);
  if (spec.type) {
    g.tensor_type_.resize(tensor.index(), Graph::kNoType);
    g.tensor_type_.push_back(static_cast<std::uint8_t>(*spec.type));
  }
  g.tensor_output_.push_back(spec.output ? 1 : 0);
  g.tensor_updates_.push_back({});
  if (!spec.home.empty()) g.homes_.emplace_back(tensor.value(), std::move(spec.home));
  if (spec.updates.valid()) set_updates(tensor, spec.updates);
  return tensor;
}

void GraphBuilder::set_updates(TensorId value, TensorId parameter) {
  check_tensor(value, "set_updates");
  check_tensor(parameter, "set_updates");
  Graph& g = graph_;
  if (g.role(value) != TensorRole::kValue || g.role(parameter) != TensorRole::kParameter) {
    throw InputError(fmt::format("tensor '{}': a produced value can update a parameter only",
                                 g.tensor_name(value)));
  }
  g.tensor_updates_[value.index()] = parameter;
}

void GraphBuilder::set_producer(TensorId tensor, NodeId producer) {
  check_tensor(tensor, "set_producer");
  check_node(producer, "set_producer");
  NodeId& current = graph_.tensor_producer_[tensor.index()];
  if (graph_.role(tensor) != TensorRole::kValue) {
    throw InputError(fmt::format("tensor '{}': an input or parameter has no producer",
                                 graph_.tensor_name(tensor)));
  }
  if (current.valid()) {
    throw InputError(fmt::format("tensor '{}' is produced by both '{}' and '{}'",
                                 graph_.tensor_name(tensor), graph_.node_name(current),
                                 graph_.node_name(producer)));
  }
  current = producer;
  produced_.emplace_back(producer, tensor);
}

void GraphBuilder::connect(TensorId tensor, NodeId consumer, std::optional<double> transfer_time) {
  check_tensor(tensor, "connect");
  check_node(consumer, "connect");
  if (edges_.size() >= kMaxEdges) throw InputError(fmt::format("more than {} edges", kMaxEdges));
  edges_.push_back({tensor, consumer,
                    checked(transfer_time, "transfer time", "tensor",
                            transfer_time ? std::string(graph_.tensor_name(tensor)) : "")});
}

TensorId GraphBuilder::add_output(NodeId producer, std::optional<double> bytes,
                                  std::optional<double> transfer_time) {
  check_node(producer, "add_output");
  return add_tensor({.name = std::string(graph_.node_name(producer)),
                     .producer = producer,
                     .bytes = bytes,
                     .transfer_time = transfer_time});
}

void GraphBuilder::check_node(NodeId node, const char* what) const {
  if (node.index() >= node_count()) {
    throw InputError(fmt::format("{}: there is no node {}", what, node.value()));
  }
}

void GraphBuilder::check_tensor(TensorId tensor, const char* what) const {
  if (tensor.index() >= tensor_count()) {
    throw InputError(fmt::format("{}: there is no tensor {}", what, tensor.value()));
  }
}

void GraphBuilder::check_names() const {
  const Graph& g = graph_;
  const auto& by_name = g.nodes_by_name_;
  for (std::size_t i = 1; i < by_name.size(); ++i) {
    if (g.node_name(NodeId(by_name[i - 1])) == g.node_name(NodeId(by_name[i]))) {
      throw GraphError(NodeId(std::max(by_name[i - 1], by_name[i])),
                       fmt::format("two nodes are named '{}'", g.node_name(NodeId(by_name[i]))));
    }
  }
  NameIndex tensors;
  for (std::uint32_t t = 0; t < tensor_count(); ++t) {
    const std::string_view name = g.tensor_name(TensorId(t));
    if (!tensors.add(name).is_new) {
      throw GraphError(TensorId(t), fmt::format("two tensors are named '{}'", name));
    }
  }
}

// Throws if the sum of a quantity comes near the largest double: later stages sum them up freely.
void GraphBuilder::check_totals() const {
  constexpr double kLargestTotal = 1e290;
  const Graph& g = graph_;
  double total = 0.0;
  const auto add = [&](double value, const char* what, const auto& owner) {
    total += std::max(value, 0.0);  // -1: not given
    if (total <= kLargestTotal) return;
    throw GraphError(owner,
                     fmt::format("the {} of the graph add up to more than {} here: too large "
                                 "to compute with",
                                 what, kLargestTotal));
  };
  const auto add_nodes = [&](const std::vector<double>& column, const char* what) {
    total = 0.0;
    for (std::size_t v = 0; v < column.size(); ++v) add(column[v], what, NodeId::of(v));
  };
  // Reports a produced tensor by its producer, since formats without tensors of their own know only
  // the position of the node.
  const auto add_tensor = [&](double value, const char* what, TensorId tensor) {
    if (const NodeId producer = g.producer(tensor); producer.valid()) {
      add(value, what, producer);
    } else {
      add(value, what, tensor);
    }
  };
  const auto add_tensors = [&](const std::vector<double>& column, const char* what) {
    total = 0.0;
    for (std::size_t t = 0; t < column.size(); ++t) add_tensor(column[t], what, TensorId::of(t));
  };
  add_nodes(g.node_time_, "times");
  add_nodes(g.node_flops_, "flops");
  add_nodes(g.node_read_, "bytes read");
  add_nodes(g.node_written_, "bytes written");
  add_tensors(g.tensor_bytes_, "bytes");
  add_tensors(g.tensor_time_, "transfer times");
  total = 0.0;
  for (const Edge& edge : edges_) {
    const double own = edge.transfer_time;
    const double time = own >= 0.0 ? own : g.tensor_time_[edge.tensor.index()];
    add_tensor(time, "transfer times", edge.tensor);
  }
  total = 0.0;
  for (const auto& [node, entry] : times_) add(entry.time, "times", node);
}

// Builds the operand lists in the order given, and the consumer lists sorted and without
// repetition.
void GraphBuilder::build_edges() {
  Graph& g = graph_;
  g.node_inputs_ = Csr<TensorId>::build(node_count(), [&](const auto& visit) {
    for (const Edge& edge : edges_) visit(edge.consumer.index(), edge.tensor);
  });
  g.node_outputs_ = Csr<TensorId>::build(node_count(), [&](const auto& visit) {
    for (const auto& [node, tensor] : produced_) visit(node.index(), tensor);
  });

  const auto before = [](const Edge& a, const Edge& b) {
    return a.tensor != b.tensor ? a.tensor < b.tensor : a.consumer < b.consumer;
  };
  std::sort(edges_.begin(), edges_.end(), before);
  std::size_t kept = 0;
  bool any_time = false;
  for (const Edge& edge : edges_) {
    if (kept > 0 && !before(edges_[kept - 1], edge)) {
      edges_[kept - 1].transfer_time = std::max(edges_[kept - 1].transfer_time, edge.transfer_time);
    } else {
      edges_[kept++] = edge;
    }
    any_time |= edge.transfer_time >= 0.0;
  }
  edges_.resize(kept);
  g.consumers_ = Csr<NodeId>::build(tensor_count(), [&](const auto& visit) {
    for (const Edge& edge : edges_) visit(edge.tensor.index(), edge.consumer);
  });
  if (any_time) {
    g.consumer_time_.reserve(edges_.size());
    for (const Edge& edge : edges_) g.consumer_time_.push_back(edge.transfer_time);
  }
  g.edge_count_ =
      static_cast<std::size_t>(std::count_if(edges_.begin(), edges_.end(), [&](const Edge& edge) {
        return g.producer(edge.tensor).valid();
      }));
}

void GraphBuilder::order_nodes() {
  Graph& g = graph_;
  std::vector<std::uint32_t> missing(node_count(), 0);
  for (const Edge& edge : edges_) {
    if (g.producer(edge.tensor).valid()) ++missing[edge.consumer.index()];
  }
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t v = 0; v < node_count(); ++v) {
    if (missing[v] == 0) ready.push(v);
  }
  g.order_.reserve(node_count());
  while (!ready.empty()) {
    const NodeId node(ready.top());
    ready.pop();
    g.order_.push_back(node);
    for (const TensorId tensor : g.outputs(node)) {
      for (const NodeId consumer : g.consumers(tensor)) {
        if (--missing[consumer.index()] == 0) ready.push(consumer.value());
      }
    }
  }
  if (g.order_.size() == node_count()) return;
  // Walks backwards from a node that never became ready. Each such node has a producer that never
  // became ready either, so the walk must come back to a node it has seen, which is on a cycle.
  std::uint32_t at = 0;
  while (missing[at] == 0) ++at;
  std::vector<std::uint8_t> seen(node_count(), 0);
  while (!seen[at]) {
    seen[at] = 1;
    for (const TensorId tensor : g.inputs(NodeId(at))) {
      const NodeId producer = g.producer(tensor);
      if (producer.valid() && missing[producer.index()] > 0) {
        at = producer.value();
        break;
      }
    }
  }
  throw GraphError(NodeId(at),
                   fmt::format("node '{}' depends on itself (a cycle)", g.node_name(NodeId(at))));
}

void GraphBuilder::compute_hash() {
  const Graph& g = graph_;
  Hasher hasher;
  hasher.add_bytes(g.time_unit_);
  hasher.add_bytes(g.node_names_.characters);
  hasher.add_span<std::uint64_t>(g.node_names_.ends);
  for (const std::uint32_t op : g.node_op_) hasher.add_bytes(g.op_kinds_[op]);
  for (const auto* column : {&g.node_time_, &g.node_flops_, &g.node_read_, &g.node_written_,
                             &g.tensor_bytes_, &g.tensor_time_, &g.consumer_time_}) {
    hasher.add_span<double>(*column);
  }
  for (const auto& [node, entry] : times_) {
    hasher.add(node.value());
    hasher.add_bytes(g.time_kinds_[entry.kind]);
    hasher.add(entry.time);
  }
  for (const MetaMembership& meta : g.node_meta_) {
    hasher.add_bytes(meta.meta_op == Graph::kNoMeta ? "" : g.meta_ops_[meta.meta_op]);
    hasher.add(meta.role);
  }
  for (const Edge& edge : edges_) {
    hasher.add(edge.tensor.value());
    hasher.add(edge.consumer.value());
  }
  for (std::size_t t = 0; t < g.tensor_role_.size(); ++t) {
    hasher.add(g.tensor_role_[t]);
    hasher.add(g.tensor_producer_[t].value());
    hasher.add(g.tensor_output_[t]);
    hasher.add(g.tensor_updates_[t].value());
  }
  for (const auto& [tensor, home] : g.homes_) {
    hasher.add(tensor);
    hasher.add_bytes(home);
  }
  for (const auto* list : {&g.constraints_.pins, &g.constraints_.forbids}) {
    hasher.add(list->size());
    for (const auto& entry : *list) {
      hasher.add(entry.node.value());
      hasher.add_bytes(entry.device);
    }
  }
  for (const auto& group : g.constraints_.colocated) {
    hasher.add(group.size());
    for (const NodeId node : group) hasher.add(node.value());
  }
  for (const auto& entry : g.constraints_.memory) {
    hasher.add_bytes(entry.device);
    hasher.add(entry.bytes);
  }
  graph_.hash_ = hasher.value();
}

Graph GraphBuilder::build() && {
  Graph& g = graph_;
  if (!g.node_meta_.empty()) g.node_meta_.resize(node_count(), {Graph::kNoMeta, MetaRole::kShard});
  g.nodes_by_name_.resize(node_count());
  std::iota(g.nodes_by_name_.begin(), g.nodes_by_name_.end(), 0u);
  std::sort(g.nodes_by_name_.begin(), g.nodes_by_name_.end(),
            [&](std::uint32_t a, std::uint32_t b) {
              return g.node_name(NodeId(a)) < g.node_name(NodeId(b));
            });
  check_names();
  for (std::size_t t = 0; t < tensor_count(); ++t) {
    if (g.tensor_role_[t] == TensorRole::kValue && !g.tensor_producer_[t].valid()) {
      throw GraphError(
          TensorId::of(t),
          fmt::format("tensor '{}' has no producer and is not marked as an input or parameter",
                      g.tensor_name(TensorId::of(t))));
    }
  }
  check_totals();
  const auto check_constraint = [&](NodeId node) { check_node(node, "constraints"); };
  for (const auto& entry : g.constraints_.pins) check_constraint(entry.node);
  for (const auto& entry : g.constraints_.forbids) check_constraint(entry.node);
  for (const auto& group : g.constraints_.colocated) {
    for (const NodeId node : group) check_constraint(node);
  }
  g.node_times_ = Csr<TimeForKind>::build(node_count(), [&](const auto& visit) {
    for (const auto& [node, entry] : times_) visit(node.index(), entry);
  });
  build_edges();
  order_nodes();
  compute_hash();
  edges_.clear();
  return std::move(graph_);
}

void note_shapes(const Graph& graph, NodeId node, const kernel::KernelCall& call,
                 std::vector<const kernel::Shape*>& known) {
  note(graph, node, graph.inputs(node), call.inputs, "inputs", known);
  note(graph, node, graph.outputs(node), call.outputs, "outputs", known);
}

void check_calls(const Graph& graph, const kernel::Registry& kernels) {
  std::vector<const kernel::Shape*> known(graph.tensor_count(), nullptr);
  // The shards of an operation are mostly equal calls in a row, so a call that equals the last
  // accepted one is not checked again.
  const kernel::KernelCall* accepted = nullptr;
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    const NodeId node = NodeId::of(v);
    const kernel::KernelCall* call = graph.kernel_call(node);
    if (!call) continue;
    if (!accepted || *call != *accepted) {
      const kernel::Kernel* kernel = kernels.find(call->name);
      if (!kernel) continue;
      try {
        kernel->check(*call);
      } catch (const InputError& error) {
        throw GraphError(node, fmt::format("node '{}': {}", graph.node_name(node), error.what()));
      }
      accepted = call;
    }
    note_shapes(graph, node, *call, known);
  }
}

}  // namespace doppler::graph
