#include "doppler/sim/channel_links.h"

#include <algorithm>

namespace doppler::sim {

using cost::kInfinity;
using schedule::Choice;

ChannelLinks::ChannelLinks(RunState& state)
    : state_(state), device_count_(state.problem.device_count()) {
  const cost::Problem& problem = state.problem;
  const std::size_t devices = device_count_;
  const auto add = [&](TensorId tensor, std::vector<Output>& outputs) {
    const Output output = output_of(tensor);
    if (output.edge_count > 0 || output.has_update_readers) outputs.push_back(output);
  };
  first_output_.reserve(problem.node_count() + 1);
  for (std::size_t v = 0; v < problem.node_count(); ++v) {
    first_output_.push_back(static_cast<std::uint32_t>(outputs_.size()));
    for (const TensorId tensor : problem.graph().outputs(NodeId::of(v))) add(tensor, outputs_);
  }
  first_output_.push_back(static_cast<std::uint32_t>(outputs_.size()));
  for (const TensorId tensor : problem.homed()) add(tensor, homed_);
  next_edge_.resize(problem.edges().size());
  job_of_device_.resize(devices);
  job_round_.assign(devices, 0);
  lane_index_.assign(devices * devices, kNone);
  channels_.resize(problem.channel_count());
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    channels_[c].capacity = problem.channel_capacity(ChannelId::of(c));
  }
}

ChannelLinks::Output ChannelLinks::output_of(TensorId tensor) const {
  const cost::Problem& problem = state_.problem;
  const auto edges = problem.edges_of(tensor);
  return {.amount = problem.tensor_amount(tensor),
          .tensor = tensor.value(),
          .first_edge = static_cast<std::uint32_t>(edges.data() - problem.edges().data()),
          .edge_count = static_cast<std::uint32_t>(edges.size()),
          .by_bytes = problem.transfer_by_bytes(tensor),
          .has_update_readers = !problem.update_readers(tensor).empty()};
}

// Only what the last run used: there may be millions of channels. A run that was cut off leaves
// transfers under way.
void ChannelLinks::forget_last_run() {
  for (const EventQueue::Event& event : events_.all()) {
    if (event.id() < state_.nodes.size()) continue;
    for (const ChannelId channel : lanes_[jobs_[event.slot()].lane].route) {
      channels_[channel.index()].in_use = 0;
    }
  }
  events_.clear();
  for (const std::uint32_t channel : freed_) channels_[channel].freed = false;
  freed_.clear();
  for (const std::uint32_t index : waited_lanes_) {
    Lane& lane = lanes_[index];
    if (lane.channel != kNone) queues_[channels_[lane.channel].queue].clear();
    lane.jobs.clear();
    lane.channel = kNone;
    lane.waited = false;
  }
  waited_lanes_.clear();
  fresh_jobs_.clear();
  free_jobs_.clear();
  used_jobs_ = 0;
}

std::vector<std::uint32_t>& ChannelLinks::queue_of(Channel& channel) {
  if (channel.queue == kNone) {
    channel.queue = static_cast<std::uint32_t>(queues_.size());
    queues_.emplace_back();
  }
  return queues_[channel.queue];
}

std::uint32_t ChannelLinks::new_lane(std::uint32_t from, std::uint32_t to) {
  const cost::Problem& problem = state_.problem;
  Lane& lane = lanes_.emplace_back();
  lane.route = problem.route(DeviceId(from), DeviceId(to));
  lane.link = problem.link(DeviceId(from), DeviceId(to));
  lane.from = from;
  lane.to = to;
  return lane_index_[from * device_count_ + to] = static_cast<std::uint32_t>(lanes_.size() - 1);
}

void ChannelLinks::sift_up(std::vector<std::uint32_t>& queue, std::size_t at) {
  const std::uint32_t lane = queue[at];
  while (at > 0) {
    const std::size_t parent = (at - 1) / 2;
    if (!lane_before(lane, queue[parent])) break;
    queue[at] = queue[parent];
    lanes_[queue[at]].position = static_cast<std::uint32_t>(at);
    at = parent;
  }
  queue[at] = lane;
  lanes_[lane].position = static_cast<std::uint32_t>(at);
}

void ChannelLinks::sift_down(std::vector<std::uint32_t>& queue, std::size_t at) {
  const std::uint32_t lane = queue[at];
  for (std::size_t child = 2 * at + 1; child < queue.size(); child = 2 * at + 1) {
    if (child + 1 < queue.size() && lane_before(queue[child + 1], queue[child])) ++child;
    if (!lane_before(queue[child], lane)) break;
    queue[at] = queue[child];
    lanes_[queue[at]].position = static_cast<std::uint32_t>(at);
    at = child;
  }
  queue[at] = lane;
  lanes_[lane].position = static_cast<std::uint32_t>(at);
}

void ChannelLinks::wait_at(std::uint32_t channel, std::uint32_t lane) {
  std::vector<std::uint32_t>& queue = queue_of(channels_[channel]);
  lanes_[lane].channel = channel;
  queue.push_back(lane);
  sift_up(queue, queue.size() - 1);
}

// REQUIRES: the lane is the first of its queue.
void ChannelLinks::leave_queue(std::uint32_t lane) {
  std::vector<std::uint32_t>& queue = queue_of(channels_[lanes_[lane].channel]);
  lanes_[lane].channel = kNone;
  queue.front() = queue.back();
  queue.pop_back();
  if (!queue.empty()) sift_down(queue, 0);
}

template <class Ready>
[[gnu::always_inline]] inline void ChannelLinks::arrive(std::uint32_t consumer, NodeState& node,
                                                        std::uint32_t producer, Ready& ready) {
  if (--node.missing > 0) return;
  node.ready = now_;
  node.cause = producer;
  ready.put(node.device, consumer, node);
  state_.touched.insert(node.device);
}

[[gnu::always_inline]] inline std::uint32_t ChannelLinks::new_job(std::uint32_t to,
                                                                  std::uint64_t key,
                                                                  std::uint32_t producer) {
  std::uint32_t job = used_jobs_;
  if (free_jobs_.empty()) {
    if (++used_jobs_ > jobs_.size()) jobs_.resize(2 * used_jobs_);
  } else {
    job = free_jobs_.back();
    free_jobs_.pop_back();
  }
  jobs_[job] = {.key = key,
                .duration = 0.0,
                .number = jobs_made_++,
                .lane = kNone,
                .to = to,
                .first_edge = kNone,
                .producer = producer};
  return job;
}

// Returns the job that takes the tensor being published to a device; makes one where there is none.
[[gnu::always_inline]] inline std::uint32_t ChannelLinks::job_to(std::uint32_t to,
                                                                 std::uint64_t key,
                                                                 std::uint32_t producer) {
  if (job_round_[to] != round_) {
    job_round_[to] = round_;
    job_of_device_[to] = new_job(to, key, producer);
    made_.push_back(job_of_device_[to]);
  }
  return job_of_device_[to];
}

template <Choice kChoice, bool kJitter, class Ready>
[[gnu::always_inline]] inline void ChannelLinks::publish(const Output& output, std::uint32_t from,
                                                         std::uint32_t producer,
                                                         const RunInput& input, Ready& ready) {
  const cost::Problem& problem = state_.problem;
  const cost::Problem::Edge* const edges = problem.edges().data();
  NodeState* const nodes = state_.nodes.data();
  // The delivery of an update that no node waits for goes last.
  const std::uint64_t last =
      (kChoice == Choice::kFifo ? std::uint64_t{instant_} << 32 : kLast) | output.tensor;
  const auto key_of = [&](const NodeState& consumer) {
    if constexpr (kChoice != Choice::kPriority) return last;
    return std::uint64_t{state_.ranked.rank_of_priority(consumer.rank)} << 32 | output.tensor;
  };
  const auto send = [&](std::uint32_t index) __attribute__((always_inline)) {
    Job& job = jobs_[index];
    job.lane = lane_index_[from * device_count_ + job.to];
    if (job.lane == kNone) [[unlikely]]
      job.lane = new_lane(from, job.to);
    const Lane& lane = lanes_[job.lane];
    if (output.by_bytes) {
      job.duration = lane.link.latency_seconds + output.amount / lane.link.bandwidth;
    }
    if constexpr (kJitter) {
      job.duration *= input.jitter->factor(input.seed, transfer_key(output.tensor, job.to));
    }
    fresh_jobs_.push_back(index);
  };
  if (output.edge_count == 1 && !output.has_update_readers) {
    const cost::Problem::Edge& edge = edges[output.first_edge];
    const std::uint32_t consumer = edge.consumer.value();
    NodeState& node = nodes[consumer];
    if (node.device == from) return arrive(consumer, node, producer, ready);
    const std::uint32_t job = new_job(node.device, key_of(node), producer);
    jobs_[job].duration = edge.amount;
    jobs_[job].first_edge = output.first_edge;
    next_edge_[output.first_edge] = kNone;
    return send(job);
  }
  ++round_;
  made_.clear();
  const std::uint32_t end_edge = output.first_edge + output.edge_count;
  for (std::uint32_t e = output.first_edge; e < end_edge; ++e) {
    const std::uint32_t consumer = edges[e].consumer.value();
    NodeState& node = nodes[consumer];
    const std::uint32_t to = node.device;
    if (to == from) {
      arrive(consumer, node, producer, ready);
      continue;
    }
    Job& job = jobs_[job_to(to, last, producer)];
    next_edge_[e] = job.first_edge;
    job.first_edge = e;
    job.key = std::min(job.key, key_of(node));
    if (!output.by_bytes) job.duration = std::max(job.duration, edges[e].amount);
  }
  if (output.has_update_readers) [[unlikely]] {
    for (const NodeId reader : problem.update_readers(TensorId(output.tensor))) {
      const std::uint32_t to = input.device[reader.index()].value();
      if (to == from) continue;
      Job& job = jobs_[job_to(to, last, producer)];
      if (!output.by_bytes) job.duration = std::max(job.duration, output.amount);
    }
  }
  for (const std::uint32_t job : made_) send(job);
}

[[gnu::always_inline]] inline std::uint32_t ChannelLinks::full_channel_on(const Lane& lane) const {
  for (const ChannelId channel : lane.route) {
    const Channel& on_route = channels_[channel.index()];
    if (on_route.in_use >= on_route.capacity) return channel.value();
  }
  return kNone;
}

[[gnu::always_inline]] inline std::uint32_t ChannelLinks::start(std::uint32_t index,
                                                                const Lane& lane,
                                                                const RunInput& input) {
  const std::uint32_t blocked = full_channel_on(lane);
  if (blocked != kNone) return blocked;
  for (const ChannelId channel : lane.route) ++channels_[channel.index()].in_use;
  const Job& job = jobs_[index];
  const double end = now_ + job.duration;
  events_.push(end, static_cast<std::uint32_t>(state_.nodes.size()) + job.number, index);
  if (input.record) [[unlikely]] {
    const TensorId tensor(static_cast<std::uint32_t>(job.key));
    input.record->transfers.push_back(
        {tensor, NodeId(), DeviceId(lane.from), DeviceId(lane.to), now_, end});
  }
  return kNone;
}

[[gnu::always_inline]] inline void ChannelLinks::finish(const Lane& lane) {
  for (const ChannelId channel : lane.route) {
    Channel& held = channels_[channel.index()];
    --held.in_use;
    if (!held.freed && held.queue != kNone && !queues_[held.queue].empty()) {
      held.freed = true;
      freed_.push_back(channel.value());
    }
  }
}

void ChannelLinks::add_to_lane(std::uint32_t job) {
  const std::uint32_t index = jobs_[job].lane;
  Lane& lane = lanes_[index];
  if (!lane.waited) {
    lane.waited = true;
    waited_lanes_.push_back(index);
  }
  lane.jobs.push_back({jobs_[job].key, job});
}

void ChannelLinks::wait(std::uint32_t job, std::uint32_t channel) {
  add_to_lane(job);
  const std::uint32_t index = jobs_[job].lane;
  Lane& lane = lanes_[index];
  std::push_heap(lane.jobs.begin(), lane.jobs.end());
  if (lane.channel == kNone) {
    wait_at(channel, index);
  } else if (lane.jobs.front().job == job) {
    sift_up(queue_of(channels_[lane.channel]), lane.position);
  }
}

// The candidates are the fresh jobs and those that wait for a channel with a released unit; every
// other job has a full channel on its route, and channels only fill up while transfers start. A
// fresh job whose lane waits for a full channel joins it there.
void ChannelLinks::start_best_first(const RunInput& input) {
  if (fresh_jobs_.size() == 1 && freed_.empty()) {  // as most often
    const std::uint32_t job = fresh_jobs_.front();
    fresh_jobs_.clear();
    const std::uint32_t blocked = start(job, lanes_[jobs_[job].lane], input);
    if (blocked != kNone) wait(job, blocked);
    return;
  }
  if (fresh_jobs_.size() > 1) {
    std::sort(fresh_jobs_.begin(), fresh_jobs_.end(),
              [this](std::uint32_t a, std::uint32_t b) { return job_before(jobs_[a], jobs_[b]); });
  }
  std::size_t next_fresh = 0;
  for (;;) {
    const std::uint32_t fresh = next_fresh < fresh_jobs_.size() ? fresh_jobs_[next_fresh] : kNone;
    std::uint32_t waiting = kNone;  // a lane
    for (std::size_t i = 0; i < freed_.size();) {
      Channel& channel = channels_[freed_[i]];
      const std::vector<std::uint32_t>& queue = queues_[channel.queue];
      if (queue.empty() || channel.in_use >= channel.capacity) {
        channel.freed = false;
        freed_[i] = freed_.back();
        freed_.pop_back();
        continue;
      }
      if (waiting == kNone || lane_before(queue.front(), waiting)) waiting = queue.front();
      ++i;
    }
    if (fresh != kNone && (waiting == kNone || job_before(jobs_[fresh], best_of(waiting)))) {
      ++next_fresh;
      const std::uint32_t blocked = start(fresh, lanes_[jobs_[fresh].lane], input);
      if (blocked != kNone) wait(fresh, blocked);
      continue;
    }
    if (waiting == kNone) break;
    Lane& lane = lanes_[waiting];
    std::uint32_t blocked = start(lane.jobs.front().job, lane, input);
    if (blocked == kNone) {
      std::pop_heap(lane.jobs.begin(), lane.jobs.end());
      lane.jobs.pop_back();
      if (lane.jobs.empty()) {
        leave_queue(waiting);
        continue;
      }
      blocked = full_channel_on(lane);
    }
    if (blocked == kNone || blocked == lane.channel) {
      sift_down(queue_of(channels_[lane.channel]), 0);  // its best job is another one now
    } else {
      leave_queue(waiting);
      wait_at(blocked, waiting);
    }
  }
  fresh_jobs_.clear();
}

// A uniform order of all candidates is drawn lazily: the next is any of the jobs left, and a lane
// that turns out to be blocked takes all its jobs out of the draw.
void ChannelLinks::start_in_random_order(const RunInput& input, Rng& rng) {
  drawn_lanes_.clear();
  for (const std::uint32_t job : fresh_jobs_) {
    const std::uint32_t index = jobs_[job].lane;
    Lane& lane = lanes_[index];
    if (lane.jobs.empty()) drawn_lanes_.push_back(index);
    add_to_lane(job);
  }
  fresh_jobs_.clear();
  for (const std::uint32_t channel : freed_) {
    channels_[channel].freed = false;
    std::vector<std::uint32_t>& queue = queues_[channels_[channel].queue];
    for (const std::uint32_t lane : queue) {
      lanes_[lane].channel = kNone;
      drawn_lanes_.push_back(lane);
    }
    queue.clear();
  }
  freed_.clear();
  std::size_t left = 0;
  for (const std::uint32_t lane : drawn_lanes_) left += lanes_[lane].jobs.size();
  while (left > 0) {
    std::size_t pick = rng.below(static_cast<std::uint32_t>(left));
    std::size_t at = 0;
    while (pick >= lanes_[drawn_lanes_[at]].jobs.size())
      pick -= lanes_[drawn_lanes_[at++]].jobs.size();
    const std::uint32_t index = drawn_lanes_[at];
    Lane& lane = lanes_[index];
    const std::uint32_t blocked = start(lane.jobs[pick].job, lane, input);
    if (blocked == kNone) {
      lane.jobs[pick] = lane.jobs.back();
      lane.jobs.pop_back();
      --left;
      continue;
    }
    left -= lane.jobs.size();
    lane.channel = blocked;
    queue_of(channels_[blocked]).push_back(index);
    drawn_lanes_[at] = drawn_lanes_.back();
    drawn_lanes_.pop_back();
  }
}

template <Choice kChoice, bool kJitter, bool kRecord>
double ChannelLinks::loop(const RunInput& input) {
  RunState& state = state_;
  const cost::Problem& problem = state.problem;
  state.reset(input, kChoice);
  now_ = 0.0;
  instant_ = jobs_made_ = 0;
  forget_last_run();
  Rng rng(input.seed);
  const double tail_cutoff = kJitter ? kInfinity : input.cutoff;
  const auto node_count = static_cast<std::uint32_t>(state.nodes.size());
  auto&& ready = state.ready<kChoice>();
  // Plain pointers: the compiler cannot tell that these arrays do not move.
  NodeState* const nodes = state.nodes.data();
  StartState* const starts = state.starts.data();
  std::uint32_t* const running = state.running.data();
  double* const work_left = state.work_left.data();
  const cost::Problem::Edge* const edges = problem.edges().data();
  // Whether the states of all nodes are more than the nearer caches hold.
  const bool large = node_count > 8192;
  double makespan = 0.0;

  for (const std::uint32_t node : state.sources) {
    ready.put(nodes[node].device, node, nodes[node]);
    state.touched.insert(nodes[node].device);
  }
  for (const Output& output : homed_) {
    publish<kChoice, kJitter>(output, problem.home(TensorId(output.tensor)).value(), kNoNode, input,
                              ready);
  }

  for (;;) {
    // Ends and arrivals due now, then transfers, until nothing changes.
    for (;;) {
      while (events_.is_due(now_)) {
        const EventQueue::Event event = events_.first();
        events_.pop();
        const std::uint32_t id = event.id();
        makespan = now_;  // a transfer that no node waits for delivers an update, which counts
        if (id < node_count) {
          const std::uint32_t device = nodes[id].device;
          running[device] = kNoNode;
          state.touched.insert(device);
          const std::uint32_t end = first_output_[id + 1];
          for (std::uint32_t output = first_output_[id]; output < end; ++output) {
            publish<kChoice, kJitter>(outputs_[output], device, id, input, ready);
          }
        } else {
          const Job& job = jobs_[event.slot()];
          finish(lanes_[job.lane]);
          for (std::uint32_t edge = job.first_edge; edge != kNone; edge = next_edge_[edge]) {
            const std::uint32_t consumer = edges[edge].consumer.value();
            arrive(consumer, nodes[consumer], job.producer, ready);
          }
          free_jobs_.push_back(event.slot());
        }
      }
      if (fresh_jobs_.empty() && freed_.empty()) break;
      if constexpr (kChoice == Choice::kRandom) {
        start_in_random_order(input, rng);
      } else {
        start_best_first(input);
      }
      if (!events_.is_due(now_)) break;
    }
    // Every free device takes its best ready node.
    bool in_time = true;
    state.touched.drain([&](std::uint32_t device) __attribute__((always_inline)) {
      if (running[device] != kNoNode || ready.empty(device)) return;
      const std::uint32_t node = ready.take(device, rng);
      double duration = nodes[node].duration;
      in_time &=
          (now_ + starts[node].tail < tail_cutoff) & (now_ + work_left[device] < tail_cutoff);
      work_left[device] -= duration;
      if constexpr (kJitter) duration *= input.jitter->factor(input.seed, node_key(node));
      state.note_start(node, device, now_);
      running[device] = node;
      events_.push(now_ + duration, node, 0);
      if constexpr (kRecord) input.record->nodes[node] = {now_, now_ + duration};
      if (large) {
        // What its end will touch.
        const std::uint32_t end_output = first_output_[node + 1];
        for (std::uint32_t output = first_output_[node]; output < end_output; ++output) {
          const Output& result = outputs_[output];
          for (std::uint32_t e = 0; e < result.edge_count; ++e) {
            __builtin_prefetch(&nodes[edges[result.first_edge + e].consumer.value()], 1);
          }
        }
        if constexpr (kChoice == Choice::kPriority) {
          const std::uint32_t upcoming = ready.peek(device);
          __builtin_prefetch(&nodes[upcoming], 1);
          __builtin_prefetch(&starts[upcoming], 1);
          __builtin_prefetch(&first_output_[upcoming]);
        }
      }
    });
    if (!in_time) return kInfinity;
    if (events_.empty()) break;
    if (events_.first().time() > now_) {
      now_ = events_.first().time();
      ++instant_;
    }
    if (now_ >= input.cutoff) return kInfinity;
  }
  return makespan;
}

template <Choice kChoice>
double ChannelLinks::run_with(const RunInput& input) {
  if (input.record) {
    return input.jitter ? loop<kChoice, true, true>(input) : loop<kChoice, false, true>(input);
  }
  return input.jitter ? loop<kChoice, true, false>(input) : loop<kChoice, false, false>(input);
}

double ChannelLinks::run(const RunInput& input, Choice choice) {
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
