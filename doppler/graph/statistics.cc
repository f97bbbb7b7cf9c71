#include "doppler/graph/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <tuple>

namespace doppler::graph {

namespace {

void count_nodes(const Graph& graph, Statistics& result) {
  std::vector<std::size_t> of_kind(graph.op_kinds().size(), 0);
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    const NodeId node = NodeId::of(v);
    result.work.add(graph.given_time(node));
    result.flops.add(graph.flops(node));
    ++of_kind[graph.op_kind_index(node)];
    const auto outputs = graph.outputs(node);
    result.sinks += std::all_of(outputs.begin(), outputs.end(),
                                [&](TensorId tensor) { return graph.consumers(tensor).empty(); });
  }
  for (std::size_t kind = 0; kind < of_kind.size(); ++kind) {
    result.op_kinds.emplace_back(graph.op_kinds()[kind], of_kind[kind]);
  }
  std::sort(result.op_kinds.begin(), result.op_kinds.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
}

// Returns the given transfer times of all edges.
Total count_tensors(const Graph& graph, Statistics& result) {
  Total edge_time;
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    if (graph.role(tensor) == TensorRole::kParameter) {
      result.parameter_bytes.add(graph.bytes(tensor));
    }
    const std::size_t consumers = graph.consumers(tensor).size();
    if (!graph.producer(tensor).valid() || consumers == 0) continue;
    result.traffic_bytes.add(graph.bytes(tensor));
    std::optional<double> largest;
    for (std::size_t i = 0; i < consumers; ++i) {
      const auto time = graph.transfer_time(tensor, i);
      edge_time.add(time);
      if (time) largest = std::max(largest.value_or(0.0), *time);
    }
    result.traffic_time.add(largest);
  }
  return edge_time;
}

template <class Visit>
void for_each_producer(const Graph& graph, NodeId node, const Visit& visit) {
  for (const TensorId tensor : graph.inputs(node)) {
    if (const NodeId producer = graph.producer(tensor); producer.valid()) visit(producer);
  }
}

}  // namespace

Statistics compute_statistics(const Graph& graph) {
  Statistics result;
  result.nodes = graph.node_count();
  result.edges = graph.edge_count();
  result.tensors = graph.tensor_count();
  result.meta_ops = graph.meta_op_names().size();
  const Levels levels = compute_levels(graph);
  result.depth = levels.depth();
  result.width = levels.width();
  result.sources = levels.depth() == 0 ? 0 : levels.nodes[0].size();
  count_nodes(graph, result);
  const Total edge_time = count_tensors(graph, result);
  if (result.edges > 0 && edge_time.known == result.edges && result.work.known == result.nodes &&
      result.work.sum > 0.0) {
    const double mean_transfer = edge_time.sum / static_cast<double>(result.edges);
    const double ccr = mean_transfer / (result.work.sum / static_cast<double>(result.nodes));
    if (std::isfinite(ccr)) result.ccr = ccr;  // next to no work can make it overflow
  }
  return result;
}

std::size_t Levels::width() const {
  std::size_t largest = 0;
  for (std::size_t level = 0; level < depth(); ++level) {
    largest = std::max(largest, nodes[level].size());
  }
  return largest;
}

Levels compute_levels(const Graph& graph) {
  Levels levels;
  levels.of_node.assign(graph.node_count(), 0);
  std::size_t depth = 0;
  for (const NodeId node : graph.topological_order()) {
    std::uint32_t level = 0;
    for (const TensorId tensor : graph.inputs(node)) {
      const NodeId producer = graph.producer(tensor);
      if (producer.valid()) level = std::max(level, levels.of_node[producer.index()] + 1);
    }
    levels.of_node[node.index()] = level;
    depth = std::max<std::size_t>(depth, level + 1);
  }
  levels.nodes = Csr<NodeId>::build(depth, [&](const auto& visit) {
    for (std::size_t v = 0; v < graph.node_count(); ++v) visit(levels.of_node[v], NodeId::of(v));
  });
  return levels;
}

std::vector<std::vector<NodeId>> compute_stages(const Graph& graph) {
  constexpr std::uint32_t kNoMetaOp = 0xffffffffu;
  using Key = std::tuple<std::uint32_t, MetaRole, std::uint32_t>;  // meta-op, role, depth
  std::map<Key, std::uint32_t> index;
  std::vector<std::vector<NodeId>> groups;  // numbered by their first node in topological order
  std::vector<std::uint32_t> depth(graph.node_count(), 0), group_of(graph.node_count());
  for (const NodeId node : graph.topological_order()) {
    const auto meta = graph.meta_op(node);
    const bool shard = meta && meta->role == MetaRole::kShard;
    for_each_producer(graph, node, [&](NodeId producer) {
      const auto theirs = graph.meta_op(producer);
      // A level counts all edges, the depth of a reduction those from reductions of its meta-op.
      const bool counts = !meta || (!shard && theirs && theirs->meta_op == meta->meta_op &&
                                    theirs->role == MetaRole::kReduction);
      if (counts) depth[node.index()] = std::max(depth[node.index()], depth[producer.index()] + 1);
    });
    const Key key{meta ? meta->meta_op : kNoMetaOp, meta ? meta->role : MetaRole::kShard,
                  depth[node.index()]};
    const auto [entry, added] = index.try_emplace(key, static_cast<std::uint32_t>(groups.size()));
    if (added) groups.emplace_back();
    group_of[node.index()] = entry->second;
    groups[entry->second].push_back(node);
  }

  std::vector<std::vector<std::uint32_t>> readers(groups.size());
  std::vector<std::uint32_t> missing(groups.size(), 0);
  for (const NodeId node : graph.topological_order()) {
    const std::uint32_t reader = group_of[node.index()];
    for_each_producer(graph, node, [&](NodeId producer) {
      if (group_of[producer.index()] == reader) return;
      readers[group_of[producer.index()]].push_back(reader);
      ++missing[reader];
    });
  }
  std::vector<std::vector<NodeId>> ordered;
  std::vector<bool> done(groups.size(), false);
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    if (missing[g] == 0) ready.push(g);
  }
  for (std::uint32_t first_left = 0; ordered.size() < groups.size();) {
    std::uint32_t next;
    if (ready.empty()) {  // a cycle: break it at the stage that comes first
      while (done[first_left]) ++first_left;
      next = first_left;
    } else {
      next = ready.top();
      ready.pop();
      if (done[next]) continue;
    }
    done[next] = true;
    for (const std::uint32_t reader : readers[next]) {
      if (--missing[reader] == 0 && !done[reader]) ready.push(reader);
    }
    ordered.push_back(std::move(groups[next]));
  }
  return ordered;
}

}  // namespace doppler::graph
