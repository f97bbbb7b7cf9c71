#include "doppler/sim/channel_links.h"

#include <algorithm>

namespace doppler::sim {

using cost::kInfinity;
using schedule::Choice;

ChannelLinks::ChannelLinks(RunState& state) : state_(state) {
  const cost::Problem& problem = state.problem;
  const std::size_t devices = problem.device_count();
  // A tensor has at most one job per destination, and no more jobs than readers.
  std::size_t most_jobs = 0;
  for (std::size_t t = 0; t < problem.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    most_jobs += std::min(problem.edges_of(tensor).size() + problem.update_readers(tensor).size(),
                          devices - 1);
  }
  jobs_.resize(most_jobs);
  next_edge_.resize(problem.edges().size());
  events_.resize(most_jobs + devices);
  job_of_device_.resize(devices);
  job_round_.assign(devices, 0);
  in_use_.resize(problem.channel_count());
  waiting_.resize(problem.channel_count());
  freed_.reserve(problem.channel_count());
  freed_flag_.assign(problem.channel_count(), 0);
  fresh_.reserve(most_jobs);
  candidates_.reserve(most_jobs);
  stack_.reserve(most_jobs);
}

bool ChannelLinks::before(std::uint32_t a, std::uint32_t b) const {
  const Job& x = jobs_[a];
  const Job& y = jobs_[b];
  if (x.key != y.key) return x.key > y.key;
  return x.tensor != y.tensor ? x.tensor < y.tensor : x.to < y.to;
}

std::uint32_t ChannelLinks::meld(std::uint32_t a, std::uint32_t b) {
  if (a == kNone) return b;
  if (b == kNone) return a;
  if (before(b, a)) std::swap(a, b);
  jobs_[b].sibling = jobs_[a].child;
  jobs_[a].child = b;
  return a;
}

// Two-pass pairing, without recursion.
std::uint32_t ChannelLinks::pop_best(std::uint32_t root) {
  std::uint32_t pairs = kNone;  // melded pairs, chained through sibling, last pair first
  for (std::uint32_t at = jobs_[root].child; at != kNone;) {
    const std::uint32_t first = at;
    const std::uint32_t second = jobs_[first].sibling;
    at = second == kNone ? kNone : jobs_[second].sibling;
    jobs_[first].sibling = kNone;
    if (second != kNone) jobs_[second].sibling = kNone;
    const std::uint32_t pair = meld(first, second);
    jobs_[pair].sibling = pairs;
    pairs = pair;
  }
  std::uint32_t merged = kNone;
  while (pairs != kNone) {
    const std::uint32_t next = jobs_[pairs].sibling;
    jobs_[pairs].sibling = kNone;
    merged = meld(merged, pairs);
    pairs = next;
  }
  return merged;
}

template <Choice kChoice>
inline void ChannelLinks::arrive(std::uint32_t consumer, std::uint32_t producer,
                                 const RunInput& input) {
  NodeState& node = state_.nodes[consumer];
  if (--node.missing > 0) return;
  node.ready = now_;
  node.cause = producer;
  const std::uint32_t device = input.device[consumer].value();
  state_.make_ready<kChoice>(device, consumer);
  state_.touched.insert(device);
}

std::uint32_t ChannelLinks::job_to(TensorId tensor, std::uint32_t from, std::uint32_t to) {
  if (job_round_[to] == round_) return job_of_device_[to];
  job_round_[to] = round_;
  const std::uint32_t job = job_of_device_[to] = job_count_++;
  // The delivery of an update that no node waits for goes last.
  jobs_[job] = {-kInfinity, 0.0, tensor, from, to, kNone, kNone, kNone};
  fresh_.push_back(job);
  return job;
}

template <Choice kChoice, bool kJitter>
void ChannelLinks::publish(TensorId tensor, std::uint32_t from, std::uint32_t producer,
                           const RunInput& input) {
  const cost::Problem& problem = state_.problem;
  const bool by_bytes = problem.transfer_by_bytes(tensor);
  ++round_;
  const std::size_t first_fresh = fresh_.size();
  const auto edges = problem.edges_of(tensor);
  const auto first_edge = static_cast<std::uint32_t>(edges.data() - problem.edges().data());
  for (std::uint32_t i = 0; i < edges.size(); ++i) {
    const std::uint32_t consumer = edges[i].consumer.value();
    const std::uint32_t to = input.device[consumer].value();
    if (to == from) {
      arrive<kChoice>(consumer, producer, input);
      continue;
    }
    Job& job = jobs_[job_to(tensor, from, to)];
    next_edge_[first_edge + i] = job.first_edge;
    job.first_edge = first_edge + i;
    job.key = std::max(job.key, input.priority[consumer]);
    if (!by_bytes) job.duration = std::max(job.duration, edges[i].amount);
  }
  if (problem.has_updates()) {
    for (const NodeId reader : problem.update_readers(tensor)) {
      const std::uint32_t to = input.device[reader.index()].value();
      if (to == from) continue;
      Job& job = jobs_[job_to(tensor, from, to)];
      if (!by_bytes) job.duration = std::max(job.duration, problem.tensor_amount(tensor));
    }
  }
  for (std::size_t i = first_fresh; i < fresh_.size(); ++i) {
    Job& job = jobs_[fresh_[i]];
    if constexpr (kChoice == Choice::kFifo) job.key = -now_;
    if (by_bytes) {
      job.duration = problem.transfer_time(true, problem.tensor_amount(tensor), DeviceId(from),
                                           DeviceId(job.to));
    }
    if constexpr (kJitter) {
      job.duration *= input.jitter->factor(input.seed, transfer_key(tensor.value(), job.to));
    }
  }
}

std::uint32_t ChannelLinks::full_channel_on(const Job& job) const {
  for (const ChannelId channel : state_.problem.route(DeviceId(job.from), DeviceId(job.to))) {
    if (in_use_[channel.index()] >= state_.problem.channel_capacity(channel))
      return channel.value();
  }
  return kNone;
}

void ChannelLinks::start_or_queue(std::uint32_t job_index, const RunInput& input) {
  Job& job = jobs_[job_index];
  if (const std::uint32_t full = full_channel_on(job); full != kNone) {
    job.child = job.sibling = kNone;
    waiting_[full] = meld(waiting_[full], job_index);
    return;
  }
  for (const ChannelId channel : state_.problem.route(DeviceId(job.from), DeviceId(job.to))) {
    ++in_use_[channel.index()];
  }
  const double end = now_ + job.duration;
  push_event(end, static_cast<std::uint32_t>(state_.nodes.size()) + job_index);
  if (input.record) {
    input.record->transfers.push_back(
        {job.tensor, NodeId(), DeviceId(job.from), DeviceId(job.to), now_, end});
  }
}

// The candidates are the fresh jobs and those that wait for a channel with a released unit; every
// other waiting job has a full channel on its route.
void ChannelLinks::start_transfers_best_first(const RunInput& input) {
  std::sort(fresh_.begin(), fresh_.end(),
            [this](std::uint32_t a, std::uint32_t b) { return before(a, b); });
  std::size_t next_fresh = 0;
  for (;;) {
    std::uint32_t best = next_fresh < fresh_.size() ? fresh_[next_fresh] : kNone;
    std::uint32_t best_channel = kNone;
    for (std::size_t i = 0; i < freed_.size();) {
      const std::uint32_t channel = freed_[i];
      const std::uint32_t top = waiting_[channel];
      if (top == kNone || in_use_[channel] >= state_.problem.channel_capacity(ChannelId(channel))) {
        freed_flag_[channel] = 0;
        freed_[i] = freed_.back();
        freed_.pop_back();
        continue;
      }
      if (best == kNone || before(top, best)) {
        best = top;
        best_channel = channel;
      }
      ++i;
    }
    if (best == kNone) break;
    if (best_channel == kNone) {
      ++next_fresh;
    } else {
      waiting_[best_channel] = pop_best(best);
    }
    start_or_queue(best, input);
  }
  fresh_.clear();
}

void ChannelLinks::start_transfers_in_random_order(const RunInput& input, Rng& rng) {
  candidates_.assign(fresh_.begin(), fresh_.end());
  fresh_.clear();
  for (const std::uint32_t channel : freed_) {
    freed_flag_[channel] = 0;
    if (waiting_[channel] == kNone) continue;
    stack_.assign(1, waiting_[channel]);
    waiting_[channel] = kNone;
    while (!stack_.empty()) {
      const std::uint32_t job = stack_.back();
      stack_.pop_back();
      candidates_.push_back(job);
      if (jobs_[job].child != kNone) stack_.push_back(jobs_[job].child);
      if (jobs_[job].sibling != kNone) stack_.push_back(jobs_[job].sibling);
    }
  }
  freed_.clear();
  // Which tree a job sat in must not matter: sort before shuffling, so that a seed means one order.
  std::sort(candidates_.begin(), candidates_.end());
  rng.shuffle(candidates_);
  for (const std::uint32_t job : candidates_) start_or_queue(job, input);
}

void ChannelLinks::finish_transfer(std::uint32_t job_index) {
  const Job& job = jobs_[job_index];
  for (const ChannelId channel : state_.problem.route(DeviceId(job.from), DeviceId(job.to))) {
    --in_use_[channel.index()];
    if (!freed_flag_[channel.index()]) {
      freed_flag_[channel.index()] = 1;
      freed_.push_back(channel.value());
    }
  }
}

template <Choice kChoice, bool kJitter, bool kRecord>
double ChannelLinks::loop(const RunInput& input) {
  RunState& state = state_;
  const cost::Problem& problem = state.problem;
  state.reset(input, kChoice);
  now_ = 0.0;
  event_count_ = job_count_ = 0;
  std::fill(in_use_.begin(), in_use_.end(), 0u);
  std::fill(waiting_.begin(), waiting_.end(), kNone);
  std::fill(freed_flag_.begin(), freed_flag_.end(), std::uint8_t{0});
  freed_.clear();
  fresh_.clear();
  Rng rng(input.seed);
  const bool cut_off = input.cutoff < kInfinity && !kJitter;
  const double work_cutoff = input.cutoff * (1.0 + kCutoffMargin);
  const auto nodes = static_cast<std::uint32_t>(state.nodes.size());
  double makespan = 0.0;

  for (const std::uint32_t node : state.sources) {
    const std::uint32_t device = input.device[node].value();
    state.make_ready<kChoice>(device, node);
    state.touched.insert(device);
  }
  for (const TensorId tensor : problem.homed()) {
    publish<kChoice, kJitter>(tensor, problem.home(tensor).value(), kNoNode, input);
  }

  for (;;) {
    // Ends and arrivals due now, then transfers, until nothing changes.
    for (;;) {
      while (event_count_ > 0 && events_[0].key == now_) {
        const std::uint32_t id = heap_pop<SmallestFirst>(events_.data(), event_count_).id;
        if (id < nodes) {
          const std::uint32_t device = input.device[id].value();
          state.running[device] = kNoNode;
          state.touched.insert(device);
          makespan = now_;
          for (const TensorId tensor : problem.graph().outputs(NodeId(id))) {
            publish<kChoice, kJitter>(tensor, device, id, input);
          }
        } else {
          const Job& job = jobs_[id - nodes];
          finish_transfer(id - nodes);
          const NodeId producer = problem.graph().producer(job.tensor);
          const std::uint32_t cause = producer.valid() ? producer.value() : kNoNode;
          for (std::uint32_t edge = job.first_edge; edge != kNone; edge = next_edge_[edge]) {
            arrive<kChoice>(problem.edges()[edge].consumer.value(), cause, input);
          }
          makespan = now_;  // a transfer that nobody waits for delivers an update, which counts
        }
      }
      if (fresh_.empty() && freed_.empty()) break;
      if constexpr (kChoice == Choice::kRandom) {
        start_transfers_in_random_order(input, rng);
      } else {
        start_transfers_best_first(input);
      }
      if (event_count_ == 0 || events_[0].key != now_) break;
    }
    // Every free device takes its best ready node.
    bool in_time = true;
    state.touched.for_each([&](std::uint32_t device) {
      if (state.running[device] != kNoNode || state.none_ready<kChoice>(device)) return;
      const std::uint32_t node = state.take_best<kChoice>(device, rng);
      double duration = problem.compute_time(NodeId(node), DeviceId(device));
      if (cut_off) {
        in_time &=
            now_ + state.tail[node] < input.cutoff && now_ + state.work_left[device] < work_cutoff;
        state.work_left[device] -= duration;
      }
      if constexpr (kJitter) duration *= input.jitter->factor(input.seed, node_key(node));
      state.note_start(node, device, now_);
      push_event(now_ + duration, node);
      if constexpr (kRecord) input.record->nodes[node] = {now_, now_ + duration};
    });
    if (!in_time) return kInfinity;
    state.touched.clear();
    if (event_count_ == 0) break;
    now_ = events_[0].key;
    if (now_ >= input.cutoff) return kInfinity;
  }
  return makespan;
}

double ChannelLinks::run(const RunInput& input, Choice choice) {
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
