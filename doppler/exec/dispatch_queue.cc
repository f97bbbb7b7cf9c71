#include "doppler/exec/dispatch_queue.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/graph/statistics.h"

namespace doppler::exec {

using schedule::Choice;

DispatchQueue::DispatchQueue(const cost::Problem& problem, const schedule::Placement& placement,
                             const TransferPlan& plan, Rules rules, const StartOrder* order)
    : problem_(problem), placement_(placement), plan_(plan), rules_(rules) {
  if (rules.mode == schedule::Mode::kSynchronous) find_levels();
  if (order) admission_.emplace(problem, placement, plan, *order);
  const std::size_t devices = problem.device_count();
  ready_.resize(devices);
  is_touched_.assign(devices, 0);
  channel_use_.assign(problem.channel_count(), 0);

  const auto transfers = plan.transfers();
  lane_of_.resize(transfers.size());
  std::vector<std::uint32_t> lane_between(devices * devices, 0xffffffffu);
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const Transfer& transfer = transfers[i];
    std::uint32_t& lane = lane_between[transfer.from.index() * devices + transfer.to.index()];
    if (lane == 0xffffffffu) {
      lane = static_cast<std::uint32_t>(lanes_.size());
      lanes_.emplace_back();
      if (problem.links() == cost::LinkMode::kChannel) {
        lanes_.back().route = problem.route(transfer.from, transfer.to);
      }
    }
    lane_of_[i] = lane;
  }
  lane_is_busy_.assign(lanes_.size(), 0);
  // Among equals the lower tensor goes first, then the lower destination.
  by_rank_.resize(transfers.size());
  std::iota(by_rank_.begin(), by_rank_.end(), 0u);
  std::sort(by_rank_.begin(), by_rank_.end(), [&](TransferIndex a, TransferIndex b) {
    return std::tuple(transfers[a].tensor, transfers[a].to, a) <
           std::tuple(transfers[b].tensor, transfers[b].to, b);
  });
  transfer_rank_.resize(transfers.size());
  for (std::size_t i = 0; i < by_rank_.size(); ++i) {
    transfer_rank_[by_rank_[i]] = static_cast<std::uint32_t>(i);
  }
}

void DispatchQueue::begin(std::uint64_t seed) {
  rng_ = Rng(seed);
  if (admission_) admission_->begin();
  const std::size_t nodes = problem_.node_count();
  left_ = nodes + plan_.transfers().size();
  missing_.resize(nodes);
  for (auto& queue : ready_) queue.clear();
  for (Lane& lane : lanes_) lane.waiting.clear();
  busy_lanes_.clear();
  std::fill(lane_is_busy_.begin(), lane_is_busy_.end(), 0);
  std::fill(channel_use_.begin(), channel_use_.end(), 0);
  forget_touched();
  released_.clear();
  uses_left_.resize(plan_.copies().size());
  for (std::size_t c = 0; c < uses_left_.size(); ++c) uses_left_[c] = plan_.copies()[c].uses;
  for (std::size_t v = 0; v < nodes; ++v) {
    missing_[v] = plan_.awaited(NodeId::of(v)) + 1;
    arrive(NodeId::of(v), 0.0);
  }
  for (const TensorId tensor : problem_.homed()) publish(tensor, 0.0);
  phase_ = phase_left_ = 0;
  if (rules_.mode == schedule::Mode::kSynchronous) next_phase(0.0);
}

void DispatchQueue::find_levels() {
  if (problem_.links() == cost::LinkMode::kFree) {
    throw ParameterError("synchronous runs need links with channels");
  }
  const graph::Levels levels = graph::compute_levels(problem_.graph());
  std::vector<std::size_t> level(problem_.node_count());
  for (std::size_t l = 0; l < levels.depth(); ++l) {
    for (const NodeId node : levels.nodes[l]) level[node.index()] = l;
  }
  level_nodes_ = Csr<NodeId>::build(levels.depth(), [&](const auto& visit) {
    for (std::size_t v = 0; v < level.size(); ++v) visit(level[v], NodeId::of(v));
  });
  // A transfer belongs to the first level that needs it; that of a new parameter value to the level
  // after its producer's.
  level_transfers_ = Csr<TransferIndex>::build(levels.depth() + 1, [&](const auto& visit) {
    for (std::size_t i = 0; i < plan_.transfers().size(); ++i) {
      const auto index = static_cast<TransferIndex>(i);
      const Transfer& transfer = plan_.transfers()[i];
      std::size_t first = levels.depth();
      for (const NodeId node : plan_.waiting(index)) first = std::min(first, level[node.index()]);
      for (const NodeId reader : problem_.update_readers(transfer.tensor)) {
        if (placement_.device[reader.index()] != transfer.to) continue;
        first = level[problem_.graph().producer(transfer.tensor).index()] + 1;
      }
      visit(first, index);
    }
  });
}

void DispatchQueue::next_phase(double now) {
  while (phase_left_ == 0 && phase_ < 2 * level_nodes_.rows() + 1) {
    const std::size_t level = phase_ / 2;
    if (phase_++ % 2 == 0) {
      for (const TransferIndex transfer : level_transfers_[level]) make_startable(transfer, now);
      phase_left_ = level_transfers_[level].size();
    } else {
      for (const NodeId node : level_nodes_[level]) make_ready(node, now);
      phase_left_ = level_nodes_[level].size();
    }
  }
}

void DispatchQueue::item_ended(double now) {
  --left_;
  if (rules_.mode == schedule::Mode::kSynchronous && --phase_left_ == 0) next_phase(now);
}

void DispatchQueue::touch(DeviceId device) {
  if (is_touched_[device.index()]) return;
  is_touched_[device.index()] = 1;
  touched_.push_back(device);
}

void DispatchQueue::forget_touched() {
  for (const DeviceId device : touched_) is_touched_[device.index()] = 0;
  touched_.clear();
}

void DispatchQueue::put(std::vector<Entry>& queue, Entry entry) const {
  queue.push_back(entry);
  if (rules_.choice != Choice::kRandom) std::push_heap(queue.begin(), queue.end(), worse);
}

template <class Fits>
std::optional<std::size_t> DispatchQueue::best(const std::vector<Entry>& queue, const Fits& fits) {
  if (queue.empty()) return std::nullopt;
  if (rules_.choice == Choice::kRandom) {
    fitting_.clear();
    for (std::size_t i = 0; i < queue.size(); ++i) {
      if (fits(queue[i].id)) fitting_.push_back(i);
    }
    if (fitting_.empty()) return std::nullopt;
    return fitting_[rng_.below(static_cast<std::uint32_t>(fitting_.size()))];
  }
  if (fits(queue.front().id)) return 0;
  std::optional<std::size_t> found;
  for (std::size_t i = 1; i < queue.size(); ++i) {
    if (fits(queue[i].id) && (!found || worse(queue[*found], queue[i]))) found = i;
  }
  return found;
}

std::uint32_t DispatchQueue::remove(std::vector<Entry>& queue, std::size_t position) const {
  const std::uint32_t id = queue[position].id;
  if (rules_.choice != Choice::kRandom && position == 0) {
    std::pop_heap(queue.begin(), queue.end(), worse);
    queue.pop_back();
    return id;
  }
  queue[position] = queue.back();
  queue.pop_back();
  if (rules_.choice != Choice::kRandom) std::make_heap(queue.begin(), queue.end(), worse);
  return id;
}

void DispatchQueue::make_ready(NodeId node, double now) {
  const DeviceId device = placement_.device[node.index()];
  const double key = rules_.choice == Choice::kFifo ? -now : placement_.priority[node.index()];
  put(ready_[device.index()], {key, node.value()});
  touch(device);
}

void DispatchQueue::make_startable(TransferIndex transfer, double now) {
  const std::uint32_t lane = lane_of_[transfer];
  const double key = rules_.choice == Choice::kFifo ? -now : plan_.transfers()[transfer].priority;
  put(lanes_[lane].waiting, {key, transfer_rank_[transfer]});
  if (lane_is_busy_[lane]) return;
  lane_is_busy_[lane] = 1;
  busy_lanes_.push_back(lane);
}

// Does not make nodes of synchronous runs ready: phases do, when everything is there.
void DispatchQueue::arrive(NodeId node, double now) {
  if (--missing_[node.index()] > 0 || rules_.mode == schedule::Mode::kSynchronous) return;
  make_ready(node, now);
}

void DispatchQueue::publish(TensorId tensor, double now) {
  for (const NodeId node : plan_.waiting_at_origin(tensor)) arrive(node, now);
  if (rules_.mode == schedule::Mode::kSynchronous) return;
  for (const TransferIndex transfer : plan_.transfers_of(tensor)) make_startable(transfer, now);
}

void DispatchQueue::use_ended(CopyIndex copy) {
  if (--uses_left_[copy] > 0 || plan_.copies()[copy].kept) return;
  released_.push_back(copy);
  if (!admission_) return;
  admission_->release(copy);
  touch(plan_.copies()[copy].device);
}

void DispatchQueue::node_ended(NodeId node, double now) {
  touch(placement_.device[node.index()]);
  for (const CopyIndex copy : plan_.distinct_operands(node)) use_ended(copy);
  for (const CopyIndex copy : plan_.results(node)) {
    const Copy& made = plan_.copies()[copy];
    if (made.uses == 0 && !made.kept) {  // a result that nobody uses ends with its producer
      uses_left_[copy] = 1;
      use_ended(copy);
    }
    publish(made.tensor, now);
  }
  item_ended(now);
}

void DispatchQueue::transfer_ended(TransferIndex index, double now) {
  for (const ChannelId channel : lanes_[lane_of_[index]].route) --channel_use_[channel.index()];
  use_ended(plan_.transfers()[index].source);
  for (const NodeId node : plan_.waiting(index)) arrive(node, now);
  item_ended(now);
}

NodeId DispatchQueue::start_node(DeviceId device) {
  std::vector<Entry>& queue = ready_[device.index()];
  const auto position = best(
      queue, [&](std::uint32_t node) { return !admission_ || admission_->admits(NodeId(node)); });
  if (!position) return {};
  const NodeId node(remove(queue, *position));
  if (admission_) admission_->start(node);
  return node;
}

bool DispatchQueue::route_is_free(const Lane& lane) const {
  for (const ChannelId channel : lane.route) {
    if (channel_use_[channel.index()] >= problem_.channel_capacity(channel)) return false;
  }
  return true;
}

bool DispatchQueue::may_start_transfer() const {
  return std::any_of(busy_lanes_.begin(), busy_lanes_.end(), [&](std::uint32_t lane) {
    return !lanes_[lane].waiting.empty() && route_is_free(lanes_[lane]);
  });
}

std::optional<TransferIndex> DispatchQueue::start_transfer() {
  const auto fits = [&](std::uint32_t rank) {
    return !admission_ || admission_->admits(by_rank_[rank]);
  };
  Lane* chosen = nullptr;
  std::size_t position = 0;
  std::uint32_t seen = 0;  // transfers so far, each of which a random run takes with equal chance
  for (std::size_t i = 0; i < busy_lanes_.size();) {
    Lane& lane = lanes_[busy_lanes_[i]];
    if (lane.waiting.empty()) {
      lane_is_busy_[busy_lanes_[i]] = 0;
      busy_lanes_[i] = busy_lanes_.back();
      busy_lanes_.pop_back();
      continue;
    }
    ++i;
    if (!route_is_free(lane)) continue;
    const auto found = best(lane.waiting, fits);
    if (!found) continue;
    const auto waiting = static_cast<std::uint32_t>(lane.waiting.size());
    seen += waiting;
    const bool better = rules_.choice == Choice::kRandom
                            ? rng_.below(seen) < waiting
                            : chosen && worse(chosen->waiting[position], lane.waiting[*found]);
    if (chosen && !better) continue;
    chosen = &lane;
    position = *found;
  }
  if (!chosen) return std::nullopt;
  const TransferIndex transfer = by_rank_[remove(chosen->waiting, position)];
  for (const ChannelId channel : chosen->route) ++channel_use_[channel.index()];
  if (admission_) admission_->start(transfer);
  return transfer;
}

}  // namespace doppler::exec
