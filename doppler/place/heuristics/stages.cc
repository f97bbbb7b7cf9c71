#include "doppler/place/heuristics/stages.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>

namespace doppler::place {
namespace {

using graph::Graph;
using graph::MetaRole;

template <class Visit>
void for_each_producer(const Graph& graph, NodeId node, const Visit& visit) {
  for (const TensorId tensor : graph.inputs(node)) {
    if (const NodeId producer = graph.producer(tensor); producer.valid()) visit(producer);
  }
}

}  // namespace

std::vector<std::vector<NodeId>> stages(const Graph& graph) {
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

}  // namespace doppler::place
