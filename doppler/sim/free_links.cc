#include "doppler/sim/free_links.h"

#include <algorithm>

namespace doppler::sim {

using cost::kInfinity;
using schedule::Choice;

FreeLinks::FreeLinks(RunState& state) : state_(state) {
  const std::size_t devices = state.problem.device_count();
  pending_.resize(state.problem.node_count(), devices);
  next_.resize(devices);
  running_.resize(devices);
  touched_.reserve(devices);
  touched_flag_.assign(devices, 0);
  update_seen_.assign(devices, 0);
}

// Accounts for one input of the edge's consumer, which leaves device `from` at `time`.
template <Choice kChoice, bool kJitter, bool kRecord>
inline void FreeLinks::deliver(const cost::Problem::Edge& edge, std::uint32_t from, double time,
                               std::uint32_t producer, const RunInput& input) {
  const std::uint32_t consumer = edge.consumer.value();
  const std::uint32_t to = input.device[consumer].value();
  double arrival = time;
  if (to != from) {
    double duration = state_.problem.transfer_time(edge, DeviceId(from), DeviceId(to));
    if constexpr (kJitter) {
      duration *= input.jitter->factor(input.seed, transfer_key(edge.tensor.value(), to));
    }
    arrival += duration;
    if constexpr (kRecord) {
      input.record->transfers.push_back(
          {edge.tensor, edge.consumer, DeviceId(from), DeviceId(to), time, arrival});
    }
  }
  NodeState& node = state_.nodes[consumer];
  if (arrival >= node.ready) {
    node.ready = arrival;
    node.cause = producer;
  }
  if (--node.missing > 0) return;
  if (node.ready <= time) {
    touch(to);
    state_.make_ready<kChoice>(to, consumer, input);
  } else {
    pending_.push<SmallestFirst>(to, {node.ready, consumer});
    if (running_[to] == kNoNode && node.ready < next_.time(to)) next_.set(to, node.ready);
  }
}

template <Choice kChoice, bool kJitter, bool kRecord>
double FreeLinks::loop(const RunInput& input) {
  RunState& state = state_;
  const cost::Problem& problem = state.problem;
  state.reset(input);
  pending_.reset(input.device);
  next_.reset();
  std::fill(running_.begin(), running_.end(), kNoNode);
  touched_.clear();
  std::fill(touched_flag_.begin(), touched_flag_.end(), std::uint8_t{0});
  Rng rng(input.seed);
  const bool cut_off = input.cutoff < kInfinity && !kJitter;
  const double work_cutoff = input.cutoff * (1.0 + kCutoffMargin);
  double now = 0.0;
  double makespan = 0.0;
  for (std::uint32_t v = 0; v < state.nodes.size(); ++v) {
    if (state.nodes[v].missing > 0) continue;
    const std::uint32_t device = input.device[v].value();
    state.make_ready<kChoice>(device, v, input);
    touch(device);
  }
  for (const TensorId tensor : problem.homed()) {
    const std::uint32_t home = problem.home(tensor).value();
    for (const auto& edge : problem.edges_of(tensor)) {
      deliver<kChoice, kJitter, kRecord>(edge, home, 0.0, kNoNode, input);
    }
  }

  for (;;) {
    // Every free device takes its best ready node.
    for (const std::uint32_t device : touched_) {
      touched_flag_[device] = 0;
      if (running_[device] != kNoNode) continue;
      while (!pending_.empty(device) && pending_.top(device).key <= now) {
        state.make_ready<kChoice>(device, pending_.pop<SmallestFirst>(device).id, input);
      }
      if (state.ready.empty(device)) {
        next_.set(device, pending_.empty(device) ? kInfinity : pending_.top(device).key);
        continue;
      }
      const std::uint32_t node = state.take_best<kChoice>(device, rng);
      double duration = problem.compute_time(NodeId(node), DeviceId(device));
      if (cut_off) {
        if (now + state.tail[node] >= input.cutoff ||
            now + state.work_left[device] >= work_cutoff) {
          return kInfinity;
        }
        state.work_left[device] -= duration;
      }
      if constexpr (kJitter) duration *= input.jitter->factor(input.seed, node_key(node));
      state.note_start(node, device, now);
      running_[device] = node;
      next_.set(device, now + duration);
      if constexpr (kRecord) input.record->nodes[node] = {now, now + duration};
    }
    touched_.clear();

    // Apply every end and arrival due next.
    std::uint32_t device = next_.earliest();
    now = next_.time(device);
    if (now == kInfinity) break;
    if (now >= input.cutoff) return kInfinity;
    do {
      const std::uint32_t node = running_[device];
      next_.set(device, kInfinity);
      touch(device);
      if (node != kNoNode) {
        running_[device] = kNoNode;
        makespan = std::max(makespan, now);
        for (const auto& edge : problem.edges_from(NodeId(node))) {
          deliver<kChoice, kJitter, kRecord>(edge, device, now, node, input);
        }
        if (problem.has_updates()) {
          makespan = std::max(makespan,
                              deliver_updates<kJitter, kRecord>(NodeId(node), device, now, input));
        }
      }
      device = next_.earliest();
    } while (next_.time(device) == now);
  }
  return makespan < input.cutoff ? makespan : kInfinity;
}

// Sends the new values of parameters to every other device that reads them; returns the last
// arrival.
template <bool kJitter, bool kRecord>
double FreeLinks::deliver_updates(NodeId node, std::uint32_t from, double time,
                                  const RunInput& input) {
  const cost::Problem& problem = state_.problem;
  double last = time;
  for (const TensorId tensor : problem.graph().outputs(node)) {
    ++update_round_;
    for (const NodeId reader : problem.update_readers(tensor)) {
      const DeviceId to = input.device[reader.index()];
      if (to.value() == from || update_seen_[to.index()] == update_round_) continue;
      update_seen_[to.index()] = update_round_;
      double duration = problem.transfer_time(problem.transfer_by_bytes(tensor),
                                              problem.tensor_amount(tensor), DeviceId(from), to);
      if constexpr (kJitter) {
        duration *= input.jitter->factor(input.seed, transfer_key(tensor.value(), to.value()));
      }
      last = std::max(last, time + duration);
      if constexpr (kRecord) {
        input.record->transfers.push_back(
            {tensor, NodeId(), DeviceId(from), to, time, time + duration});
      }
    }
  }
  return last;
}

double FreeLinks::run(const RunInput& input, Choice choice) {
  const auto with_choice = [&]<Choice kChoice>() {
    if (input.record) {
      return input.jitter ? loop<kChoice, true, true>(input) : loop<kChoice, false, true>(input);
    }
    return input.jitter ? loop<kChoice, true, false>(input) : loop<kChoice, false, false>(input);
  };
  switch (choice) {
    case Choice::kFifo:
      return with_choice.operator()<Choice::kFifo>();
    case Choice::kRandom:
      return with_choice.operator()<Choice::kRandom>();
    case Choice::kPriority:
      break;
  }
  return with_choice.operator()<Choice::kPriority>();
}

}  // namespace doppler::sim
