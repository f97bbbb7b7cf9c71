#include "doppler/place/search/neighborhood.h"

#include <algorithm>
#include <cmath>

namespace doppler::place {

void find_blocking_chain(const sim::RunView& run, std::vector<BlockingNode>& chain) {
  chain.clear();
  std::uint32_t at = 0;
  double latest = -1.0;
  for (std::uint32_t v = 0; v < run.nodes.size(); ++v) {
    const double end = run.starts[v].start + run.nodes[v].duration;
    if (end > latest) {
      latest = end;
      at = v;
    }
  }
  while (at != sim::kNoNode) {
    const sim::NodeState& node = run.nodes[at];
    const sim::StartState& start = run.starts[at];
    const bool waited = start.start > node.ready && start.previous != sim::kNoNode;
    chain.push_back({at, waited});
    at = waited ? start.previous : node.cause;
  }
}

using schedule::Placement;

Neighborhood::Neighborhood(const cost::Problem& problem, Style style)
    : problem_(problem), style_(style) {
  meta_members_.resize(problem.graph().meta_op_names().size());
  for (std::uint32_t v = 0; v < problem.node_count(); ++v) {
    if (const auto meta = problem.graph().meta_op(NodeId(v))) {
      meta_members_[meta->meta_op].push_back(v);
    }
  }
  std::erase_if(meta_members_, [](const auto& members) { return members.size() < 2; });
}

void Neighborhood::look_at(const sim::RunView& run) {
  if (style_ == Style::kPlain) return;
  find_blocking_chain(run, chain_);
  waiting_.clear();
  for (std::uint32_t i = 0; i < chain_.size(); ++i) {
    if (chain_[i].waited) waiting_.push_back(i);
  }
  start_.resize(run.starts.size());
  std::transform(run.starts.begin(), run.starts.end(), start_.begin(),
                 [](const sim::StartState& state) { return state.start; });
}

void Neighborhood::relocate_unit(Placement& placement, std::uint32_t node, DeviceId device) {
  if (placement.device[node] == device || !problem_.allowed(NodeId(node), device)) return;
  for (const NodeId member : problem_.unit(problem_.unit_of(NodeId(node)))) {
    devices_.push_back({member.value(), placement.device[member.index()]});
    placement.device[member.index()] = device;
  }
}

void Neighborhood::set_priority(Placement& placement, std::uint32_t node, double priority) {
  if (placement.priority[node] == priority) return;
  priorities_.push_back({node, placement.priority[node]});
  placement.priority[node] = priority;
}

void Neighborhood::undo(Placement& placement) const {
  for (auto it = devices_.rbegin(); it != devices_.rend(); ++it) {
    placement.device[it->node] = it->before;
  }
  for (auto it = priorities_.rbegin(); it != priorities_.rend(); ++it) {
    placement.priority[it->node] = it->before;
  }
}

std::uint32_t Neighborhood::any_node(Rng& rng) const {
  return rng.below(static_cast<std::uint32_t>(problem_.node_count()));
}

std::uint32_t Neighborhood::blocking_node(Rng& rng) const {
  if (chain_.empty()) return any_node(rng);
  return chain_[rng.below(static_cast<std::uint32_t>(chain_.size()))].node;
}

DeviceId Neighborhood::other_device(std::uint32_t node, DeviceId current, Rng& rng) const {
  const auto allowed = problem_.allowed_devices(NodeId(node));
  if (allowed.size() < 2) return current;
  DeviceId device = allowed[rng.below(static_cast<std::uint32_t>(allowed.size() - 1))];
  return device == current ? allowed.back() : device;
}

// A device that a node next to this one sits on: moving there saves a transfer.
DeviceId Neighborhood::near_device(const Placement& placement, std::uint32_t node, Rng& rng) const {
  const auto in = problem_.awaited_edges(NodeId(node));
  const auto out = problem_.edges_from(NodeId(node));
  const auto count = static_cast<std::uint32_t>(in.size() + out.size());
  if (count == 0) return placement.device[node];
  const std::uint32_t pick = rng.below(count);
  if (pick >= in.size()) return placement.device[out[pick - in.size()].consumer.index()];
  const TensorId tensor = problem_.edges()[in[pick]].tensor;
  const NodeId producer = problem_.graph().producer(tensor);
  return producer.valid() ? placement.device[producer.index()] : problem_.home(tensor);
}

bool Neighborhood::move(Placement& placement, Rng& rng) {
  devices_.clear();
  priorities_.clear();
  if (style_ == Style::kPlain) {
    const std::uint32_t dice = rng.below(10);
    if (dice < 6) {
      move_one(placement, rng, false);
    } else if (dice < 8) {
      swap_two(placement, rng);
    } else {
      move_with_neighbors(placement, rng);
    }
    return !devices_.empty();
  }
  // Shares in percent, found by trial on generated graphs.
  const std::uint32_t dice = rng.below(100);
  if (dice < 4) {
    relieve_bottleneck(placement, rng);
  } else if (dice < 22) {
    move_one(placement, rng, false);
  } else if (dice < 42) {
    move_one(placement, rng, true);
  } else if (dice < 54) {
    swap_two(placement, rng);
  } else if (dice < 66) {
    move_with_neighbors(placement, rng);
  } else if (dice < 74) {
    move_siblings(placement, rng);
  } else if (dice < 82) {
    move_chain(placement, rng);
  } else if (dice < 86) {
    exchange_devices_later(placement, rng);
  } else if (dice < 88) {
    move_meta_op(placement, rng);
  } else if (dice < 95) {
    promote_waiting(placement, rng);
  } else {
    shift_priority(placement, rng);
  }
  return !devices_.empty() || !priorities_.empty();
}

void Neighborhood::move_one(Placement& placement, Rng& rng, bool on_chain) {
  const std::uint32_t node = on_chain ? blocking_node(rng) : any_node(rng);
  DeviceId device = placement.device[node];
  if (on_chain && rng.chance(0.5)) device = near_device(placement, node, rng);
  if (device == placement.device[node]) device = other_device(node, device, rng);
  relocate_unit(placement, node, device);
}

// Whatever has most to do, device or channel, loses something.
void Neighborhood::relieve_bottleneck(Placement& placement, Rng& rng) {
  device_load_.assign(problem_.device_count(), 0.0);
  for (std::uint32_t v = 0; v < problem_.node_count(); ++v) {
    device_load_[placement.device[v].index()] +=
        problem_.compute_time(NodeId(v), placement.device[v]);
  }
  const auto device = std::max_element(device_load_.begin(), device_load_.end());
  // Where there are many more channels than transfers, none is a bottleneck.
  const bool channels = problem_.links() == cost::LinkMode::kChannel &&
                        problem_.channel_count() <= 16 * problem_.edges().size();
  if (channels) {
    channel_load_.assign(problem_.channel_count(), 0.0);
    for (std::uint32_t v = 0; v < problem_.node_count(); ++v) {
      const DeviceId from = placement.device[v];
      for (const cost::Problem::Edge& edge : problem_.edges_from(NodeId(v))) {
        const DeviceId to = placement.device[edge.consumer.index()];
        if (to == from) continue;
        const double duration = problem_.transfer_time(edge, from, to);
        for (const ChannelId channel : problem_.route(from, to)) {
          channel_load_[channel.index()] += duration / problem_.channel_capacity(channel);
        }
      }
    }
    const auto channel = std::max_element(channel_load_.begin(), channel_load_.end());
    if (channel != channel_load_.end() && *channel > *device) {
      return relieve_channel(placement, rng, ChannelId::of(channel - channel_load_.begin()));
    }
  }
  relieve_device(placement, rng, DeviceId::of(device - device_load_.begin()));
}

void Neighborhood::relieve_device(Placement& placement, Rng& rng, DeviceId device) {
  std::uint32_t node = any_node(rng);
  for (std::uint32_t seen = 0; placement.device[node] != device; ++seen) {
    if (seen == problem_.node_count()) return;
    node = node + 1 == problem_.node_count() ? 0 : node + 1;
  }
  DeviceId to = other_device(node, device, rng);
  if (rng.chance(0.5)) {
    for (const DeviceId other : problem_.allowed_devices(NodeId(node))) {
      if (device_load_[other.index()] < device_load_[to.index()]) to = other;
    }
  }
  relocate_unit(placement, node, to);
}

// One transfer over the channel, any of them with equal chances, is saved: its ends meet.
void Neighborhood::relieve_channel(Placement& placement, Rng& rng, ChannelId channel) {
  std::uint32_t crossing = 0, producer = 0, consumer = 0;
  for (std::uint32_t v = 0; v < problem_.node_count(); ++v) {
    const DeviceId from = placement.device[v];
    for (const cost::Problem::Edge& edge : problem_.edges_from(NodeId(v))) {
      const DeviceId to = placement.device[edge.consumer.index()];
      if (to == from) continue;
      const auto route = problem_.route(from, to);
      if (std::find(route.begin(), route.end(), channel) == route.end()) continue;
      if (rng.below(++crossing) > 0) continue;
      producer = v;
      consumer = edge.consumer.value();
    }
  }
  if (crossing == 0) return;
  if (rng.chance(0.5)) std::swap(producer, consumer);
  relocate_unit(placement, producer, placement.device[consumer]);
}

void Neighborhood::swap_two(Placement& placement, Rng& rng) {
  const std::uint32_t a = rng.chance(0.5) ? blocking_node(rng) : any_node(rng);
  std::uint32_t b = any_node(rng);
  for (int i = 0; i < 4 && placement.device[a] == placement.device[b]; ++i) b = any_node(rng);
  const DeviceId to_a = placement.device[b], to_b = placement.device[a];
  if (to_a == to_b || !problem_.allowed(NodeId(a), to_a) || !problem_.allowed(NodeId(b), to_b))
    return;
  relocate_unit(placement, a, to_a);
  relocate_unit(placement, b, to_b);
}

// A node and some of its producers, or some of its consumers, to one device.
void Neighborhood::move_with_neighbors(Placement& placement, Rng& rng) {
  const std::uint32_t node = rng.chance(0.5) ? blocking_node(rng) : any_node(rng);
  const DeviceId device = rng.chance(0.5) ? near_device(placement, node, rng)
                                          : other_device(node, placement.device[node], rng);
  if (!problem_.allowed(NodeId(node), device)) return;
  relocate_unit(placement, node, device);
  if (rng.chance(0.5)) {
    for (const TensorId tensor : problem_.awaited(NodeId(node))) {
      const NodeId producer = problem_.graph().producer(tensor);
      if (producer.valid() && rng.chance(0.5)) relocate_unit(placement, producer.value(), device);
    }
  } else {
    for (const auto& edge : problem_.edges_from(NodeId(node))) {
      if (rng.chance(0.5)) relocate_unit(placement, edge.consumer.value(), device);
    }
  }
}

// All inputs of one consumer, with or without it, to one device.
void Neighborhood::move_siblings(Placement& placement, Rng& rng) {
  const std::uint32_t consumer = rng.chance(0.5) ? blocking_node(rng) : any_node(rng);
  const DeviceId device = rng.chance(0.5) ? placement.device[consumer]
                                          : other_device(consumer, placement.device[consumer], rng);
  for (const TensorId tensor : problem_.awaited(NodeId(consumer))) {
    const NodeId producer = problem_.graph().producer(tensor);
    if (producer.valid()) relocate_unit(placement, producer.value(), device);
  }
  if (rng.chance(0.7)) relocate_unit(placement, consumer, device);
}

// A stretch of the blocking chain to one device, so that nothing is sent inside it.
void Neighborhood::move_chain(Placement& placement, Rng& rng) {
  if (chain_.empty()) return;
  const std::uint32_t first = rng.below(static_cast<std::uint32_t>(chain_.size()));
  const std::uint32_t node = chain_[first].node;
  const DeviceId device =
      rng.chance(0.5) ? placement.device[node] : other_device(node, placement.device[node], rng);
  const std::uint32_t length = 2 + rng.below(6);
  for (std::uint32_t i = first; i < chain_.size() && i < first + length; ++i) {
    relocate_unit(placement, chain_[i].node, device);
  }
}

// Two devices trade everything that starts after some moment: inside each part nothing changes,
// only the transfers across the moment do.
void Neighborhood::exchange_devices_later(Placement& placement, Rng& rng) {
  const auto devices = static_cast<std::uint32_t>(problem_.device_count());
  if (devices < 2 || start_.empty()) return;
  const DeviceId a(rng.below(devices));
  DeviceId b(rng.below(devices - 1));
  if (b == a) b = DeviceId(devices - 1);
  const double from = start_[any_node(rng)];
  const double until =
      rng.chance(0.5) ? cost::kInfinity : from + rng.uniform() * 0.3 * (from + 1e-9);
  for (std::uint32_t v = 0; v < start_.size(); ++v) {
    if (start_[v] < from || start_[v] > until) continue;
    if (problem_.unit(problem_.unit_of(NodeId(v))).size() > 1) continue;
    if (placement.device[v] == a) {
      relocate_unit(placement, v, b);
    } else if (placement.device[v] == b) {
      relocate_unit(placement, v, a);
    }
  }
}

// A sharded operation: its kernels change places by one permutation of devices, or follow their
// producers.
void Neighborhood::move_meta_op(Placement& placement, Rng& rng) {
  if (meta_members_.empty()) return;
  const auto& members = meta_members_[rng.below(static_cast<std::uint32_t>(meta_members_.size()))];
  if (rng.chance(0.5)) {
    for (const std::uint32_t node : members) {
      relocate_unit(placement, node, near_device(placement, node, rng));
    }
    return;
  }
  const auto devices = static_cast<std::uint32_t>(problem_.device_count());
  const std::uint32_t shift = 1 + rng.below(std::max(devices, 2u) - 1);
  for (const std::uint32_t node : members) {
    relocate_unit(placement, node, DeviceId((placement.device[node].value() + shift) % devices));
  }
}

// A node that waited behind another on the blocking chain goes before it.
void Neighborhood::promote_waiting(Placement& placement, Rng& rng) {
  if (waiting_.empty()) return shift_priority(placement, rng);
  const std::uint32_t at = waiting_[rng.below(static_cast<std::uint32_t>(waiting_.size()))];
  if (at + 1 >= chain_.size()) return;
  const std::uint32_t node = chain_[at].node, other = chain_[at + 1].node;
  const double higher = placement.priority[other];
  set_priority(placement, node, std::nextafter(higher, cost::kInfinity));
}

// Any node takes a place next to another one's in the order of priorities.
void Neighborhood::shift_priority(Placement& placement, Rng& rng) {
  const std::uint32_t node = rng.chance(0.5) ? blocking_node(rng) : any_node(rng);
  const std::uint32_t other = any_node(rng);
  if (node == other) return;
  if (rng.chance(0.5)) {
    const double swapped = placement.priority[other];
    set_priority(placement, other, placement.priority[node]);
    set_priority(placement, node, swapped);
  } else {
    set_priority(placement, node,
                 std::nextafter(placement.priority[other],
                                rng.chance(0.5) ? cost::kInfinity : -cost::kInfinity));
  }
}

}  // namespace doppler::place
