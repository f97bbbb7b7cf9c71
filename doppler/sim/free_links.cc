#include "doppler/sim/free_links.h"

#include <algorithm>

namespace doppler::sim {

using cost::kInfinity;
using schedule::Choice;

FreeLinks::FreeLinks(RunState& state)
    : state_(state), given_transfers_(state.problem.all_transfers_given()) {
  const std::size_t devices = state.problem.device_count();
  pending_.resize(state.problem.node_count(), devices);
  if (devices <= FewDueTimes::kMostDevices) few_.resize(devices);
  many_.resize(devices);
  free_at_.resize(devices);
  started_.reserve(devices);
  update_seen_.assign(devices, 0);
}

// A node's end is known as soon as it starts, so its outputs are delivered then, into the future,
// and one step per started node is all there is: ends and arrivals need no events of their own. The
// device that can start something first goes next; whatever starts later also ends later, so that
// nothing delivered from then on could have been ready in time for it.
template <Choice kChoice, bool kJitter, bool kRecord, class DueTimes>
double FreeLinks::loop(const RunInput& input, DueTimes& next) {
  RunState& state = state_;
  const cost::Problem& problem = state.problem;
  state.reset(input, kChoice);
  pending_.reset(state.nodes_on_device);
  next.reset();
  std::fill(free_at_.begin(), free_at_.end(), 0.0);
  Rng rng(input.seed);
  auto&& ready = state.ready<kChoice>();
  // Plain pointers: the compiler cannot tell that these arrays do not move.
  NodeState* const nodes = state.nodes.data();
  PendingQueues::Queue* const pending = pending_.queues();
  double* const free_at = free_at_.data();
  const bool has_updates = problem.has_updates();
  const bool given = given_transfers_;
  StartState* const starts = state.starts.data();
  const std::uint32_t* const edge_offsets = problem.edge_offsets().data();
  const cost::Problem::Edge* const edges = problem.edges().data();
  double* const work_left = state.work_left.data();

  // Accounts for one input of the edge's consumer, which leaves device `from` at `time`.
  const auto deliver = [&](const cost::Problem::Edge& edge, std::uint32_t from, double time,
                           std::uint32_t producer) __attribute__((always_inline)) {
    const std::uint32_t consumer = edge.consumer.value();
    NodeState& node = nodes[consumer];
    const std::uint32_t to = node.device;
    double duration = 0.0;
    if (given) {
      duration = to == from ? 0.0 : edge.amount;
    } else if (to != from) {
      duration = problem.transfer_time(edge, DeviceId(from), DeviceId(to));
    }
    if constexpr (kJitter) {
      duration *= input.jitter->factor(input.seed, transfer_key(edge.tensor.value(), to));
    }
    const double arrival = time + duration;
    if constexpr (kRecord) {
      if (to != from) {
        input.record->transfers.push_back(
            {edge.tensor, edge.consumer, DeviceId(from), DeviceId(to), time, arrival});
      }
    }
    const double at = std::max(arrival, node.ready);
    node.cause = arrival >= node.ready ? producer : node.cause;
    node.ready = at;
    if (--node.missing > 0) return;
    if (at <= free_at[to]) {
      ready.put(to, consumer, node);
      next.lower(to, free_at[to]);
    } else {
      pending[to].put(at, consumer);
      next.lower(to, at);
    }
  };
  double makespan = 0.0;
  double reach = 0.0;  // a lower bound on the makespan
  // Starts the best ready node of a device at its due time; the node's outputs wait for `finish`.
  const auto start = [&](std::uint32_t device, double now) __attribute__((always_inline)) {
    if (pending[device].earliest() <= now) {
      pending[device].drain(now, [&](std::uint32_t node) { ready.put(device, node, nodes[node]); });
    }
    const std::uint32_t node = ready.take(device, rng);
    double duration = nodes[node].duration;
    if constexpr (!kJitter) {
      reach = std::max(reach, now + std::max(starts[node].tail, work_left[device]));
      work_left[device] -= duration;
    }
    if constexpr (kJitter) duration *= input.jitter->factor(input.seed, node_key(node));
    const double end = now + duration;
    makespan = std::max(makespan, end);
    state.note_start(node, device, now);
    free_at[device] = end;
    next.set(device, ready.empty(device) ? std::max(end, pending[device].earliest()) : end);
    if constexpr (kRecord) input.record->nodes[node] = {now, end};
    if constexpr (kChoice == Choice::kPriority) {
      // Most likely the next on this device, after the others have had their turn.
      const std::uint32_t upcoming = ready.peek(device);
      __builtin_prefetch(&nodes[upcoming], 1);
      __builtin_prefetch(&starts[upcoming], 1);
      __builtin_prefetch(&edges[edge_offsets[upcoming]]);
    }
    return end;
  };
  const auto finish = [&](std::uint32_t device) __attribute__((always_inline)) {
    const std::uint32_t node = state.last_on_device[device];
    const double end = free_at[device];
    const std::uint32_t end_edge = edge_offsets[node + 1];
    for (std::uint32_t e = edge_offsets[node]; e < end_edge; ++e) {
      deliver(edges[e], device, end, node);
    }
    if (has_updates) {
      makespan =
          std::max(makespan, deliver_updates<kJitter, kRecord>(NodeId(node), device, end, input));
    }
  };

  for (const std::uint32_t node : state.sources) {
    const std::uint32_t device = nodes[node].device;
    ready.put(device, node, nodes[node]);
    next.set(device, 0.0);
  }
  for (const TensorId tensor : problem.homed()) {
    const std::uint32_t home = problem.home(tensor).value();
    for (const auto& edge : problem.edges_of(tensor)) deliver(edge, home, 0.0, kNoNode);
  }

  for (;;) {
    const std::uint32_t device = next.first();
    const double now = next.at(device);
    if (now == kInfinity) break;
    const double end = start(device, now);
    if (end > now) [[likely]] {
      finish(device);
    } else {
      // A node of zero duration: whoever else can start now chooses before its outputs are there.
      started_.assign(1, device);
      for (std::uint32_t other = device + 1; other < free_at_.size(); ++other) {
        if (next.at(other) != now) continue;
        start(other, now);
        started_.push_back(other);
      }
      for (const std::uint32_t each : started_) finish(each);
    }
    if (std::max(makespan, reach) >= input.cutoff) return kInfinity;
  }
  if constexpr (kRecord) {
    std::stable_sort(input.record->transfers.begin(), input.record->transfers.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
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

template <Choice kChoice>
double FreeLinks::run_with(const RunInput& input) {
  if (input.record) {
    return input.jitter ? loop<kChoice, true, true>(input, many_)
                        : loop<kChoice, false, true>(input, many_);
  }
  if (state_.problem.device_count() <= FewDueTimes::kMostDevices) {
    return input.jitter ? loop<kChoice, true, false>(input, few_)
                        : loop<kChoice, false, false>(input, few_);
  }
  return input.jitter ? loop<kChoice, true, false>(input, many_)
                      : loop<kChoice, false, false>(input, many_);
}

double FreeLinks::run(const RunInput& input, Choice choice) {
  switch (choice) {
    case Choice::kFifo:
      return run_with<Choice::kFifo>(input);
    case Choice::kRandom:
      return run_with<Choice::kRandom>(input);
    case Choice::kPriority:
      break;
  }
  return run_with<Choice::kPriority>(input);
}

}  // namespace doppler::sim
