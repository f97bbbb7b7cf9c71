#include "doppler/sim/free_links.h"

#include <algorithm>

namespace doppler::sim {

using cost::kInfinity;
using schedule::Choice;

FreeLinks::FreeLinks(RunState& state)
    : state_(state), given_transfers_(state.problem.all_transfers_given()) {
  const std::size_t devices = state.problem.device_count();
  pending_.resize(state.problem.node_count(), devices);
  if (devices <= FewDueTimes::kMost) few_.resize(devices);
  many_.resize(devices);
  update_seen_.assign(devices, 0);
}

template <Choice kChoice, bool kJitter, bool kRecord, class DueTimes>
double FreeLinks::loop(const RunInput& input, DueTimes& next) {
  RunState& state = state_;
  const cost::Problem& problem = state.problem;
  state.reset(input, kChoice);
  pending_.reset(input.device);
  next.reset();
  typename DueTimes::Set touched;  // idle devices that may have something to start now
  typename DueTimes::Set due;
  touched.resize(problem.device_count());
  due.resize(problem.device_count());
  Rng rng(input.seed);
  const DeviceId* const device_of = input.device.data();
  NodeState* const nodes = state.nodes.data();
  std::uint32_t* const running = state.running.data();
  const bool given = given_transfers_;
  // Plain pointers: the compiler cannot tell that these arrays do not move.
  const double* const compute = problem.compute_row(NodeId(0));
  const std::size_t column_count = problem.column_count();
  const std::uint32_t* const columns = problem.columns().data();
  const cost::Problem::Edge* const edges = problem.edges().data();
  const std::uint32_t* const edge_offsets = problem.edge_offsets().data();
  const double* const tail = state.tail.data();
  double* const work_left = state.work_left.data();
  const double tail_cutoff = kJitter ? kInfinity : input.cutoff;
  const double work_cutoff = tail_cutoff * (1.0 + kCutoffMargin);

  // Accounts for one input of the edge's consumer, which leaves device `from` at `time`.
  const auto deliver = [&](const cost::Problem::Edge& edge, std::uint32_t from, double time,
                           std::uint32_t producer) {
    const std::uint32_t consumer = edge.consumer.value();
    const std::uint32_t to = device_of[consumer].value();
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
    NodeState& node = nodes[consumer];
    const double ready = std::max(arrival, node.ready);
    node.cause = arrival >= node.ready ? producer : node.cause;
    node.ready = ready;
    if (--node.missing > 0) return;
    const bool idle = running[to] == kNoNode;
    if (ready <= time) {
      touched.insert_if(idle, to);
      state.make_ready<kChoice>(to, consumer);
    } else {
      pending_.put(to, ready, consumer);
      next.lower(to, idle ? ready : kInfinity);
    }
  };

  double now = 0.0;
  double makespan = 0.0;
  for (const std::uint32_t node : state.sources) {
    const std::uint32_t device = device_of[node].value();
    state.make_ready<kChoice>(device, node);
    touched.insert(device);
  }
  for (const TensorId tensor : problem.homed()) {
    const std::uint32_t home = problem.home(tensor).value();
    for (const auto& edge : problem.edges_of(tensor)) deliver(edge, home, 0.0, kNoNode);
  }

  for (;;) {
    // Every free device takes its best ready node.
    bool in_time = true;
    touched.for_each([&](std::uint32_t device) {
      if (pending_.earliest(device) <= now) {
        pending_.drain(device, now,
                       [&](std::uint32_t node) { state.make_ready<kChoice>(device, node); });
      }
      if (state.none_ready<kChoice>(device)) {
        next.set(device, pending_.earliest(device));
        return;
      }
      const std::uint32_t node = state.take_best<kChoice>(device, rng);
      double duration = compute[node * column_count + columns[device]];
      in_time &= (now + tail[node] < tail_cutoff) & (now + work_left[device] < work_cutoff);
      work_left[device] -= duration;
      if constexpr (kJitter) duration *= input.jitter->factor(input.seed, node_key(node));
      state.note_start(node, device, now);
      next.set(device, now + duration);
      if constexpr (kRecord) input.record->nodes[node] = {now, now + duration};
    });
    if (!in_time) return kInfinity;
    touched.clear();

    // Apply every end and arrival due next.
    due.clear();
    now = next.take_due(due);
    if (now == kInfinity) break;
    if (now >= input.cutoff) return kInfinity;
    due.for_each([&](std::uint32_t device) {
      touched.insert(device);
      const std::uint32_t node = running[device];
      if (node == kNoNode) return;
      running[device] = kNoNode;
      makespan = std::max(makespan, now);
      for (std::uint32_t e = edge_offsets[node]; e < edge_offsets[node + 1]; ++e) {
        deliver(edges[e], device, now, node);
      }
      if (problem.has_updates()) {
        makespan =
            std::max(makespan, deliver_updates<kJitter, kRecord>(NodeId(node), device, now, input));
      }
    });
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
  if (state_.problem.device_count() <= FewDueTimes::kMost) {
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
