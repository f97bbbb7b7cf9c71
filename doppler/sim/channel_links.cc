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
  made_.reserve(devices);
  lane_index_.assign(devices * devices, kNone);
  channels_.resize(problem.channel_count());
}

bool ChannelLinks::job_before(std::uint32_t a, std::uint32_t b) const {
  const Job& x = jobs_[a];
  const Job& y = jobs_[b];
  if (x.key != y.key) return x.key > y.key;
  return x.tensor != y.tensor ? x.tensor < y.tensor : x.to < y.to;
}

// Only what the last run used: there may be millions of channels.
void ChannelLinks::forget_last_run() {
  for (const std::uint32_t index : used_channels_) {
    Channel& channel = channels_[index];
    if (channel.queue != kNone) queues_[channel.queue].clear();
    channel = {.queue = channel.queue};
  }
  for (const std::uint32_t index : used_lanes_) {
    Lane& lane = lanes_[index];
    lane.jobs.clear();
    lane.channel = kNone;
    lane.fresh = lane.used = false;
  }
  used_channels_.clear();
  used_lanes_.clear();
  freed_.clear();
  fresh_lanes_.clear();
}

std::vector<std::uint32_t>& ChannelLinks::queue_of(std::uint32_t channel) {
  std::uint32_t& index = channels_[channel].queue;
  if (index == kNone) {
    index = static_cast<std::uint32_t>(queues_.size());
    queues_.emplace_back();
  }
  return queues_[index];
}

std::uint32_t ChannelLinks::lane_of(const Job& job) {
  std::uint32_t& index = lane_index_[job.from * state_.problem.device_count() + job.to];
  if (index == kNone) {
    index = static_cast<std::uint32_t>(lanes_.size());
    lanes_.emplace_back();
  }
  return index;
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
  std::vector<std::uint32_t>& queue = queue_of(channel);
  lanes_[lane].channel = channel;
  queue.push_back(lane);
  sift_up(queue, queue.size() - 1);
}

// REQUIRES: the lane is the first of its queue.
void ChannelLinks::leave_queue(std::uint32_t lane) {
  std::vector<std::uint32_t>& queue = queue_of(lanes_[lane].channel);
  lanes_[lane].channel = kNone;
  queue.front() = queue.back();
  queue.pop_back();
  if (!queue.empty()) sift_down(queue, 0);
}

template <Choice kChoice>
inline void ChannelLinks::arrive(std::uint32_t consumer, std::uint32_t producer,
                                 const RunInput& input) {
  NodeState& node = state_.nodes[consumer];
  if (--node.missing > 0) return;
  node.ready = now_;
  node.cause = producer;
  const std::uint32_t device = input.device[consumer].value();
  state_.ready<kChoice>().put(device, consumer, node);
  state_.touched.insert(device);
}

std::uint32_t ChannelLinks::job_to(TensorId tensor, std::uint32_t from, std::uint32_t to) {
  if (job_round_[to] == round_) return job_of_device_[to];
  job_round_[to] = round_;
  const std::uint32_t job = job_of_device_[to] = job_count_++;
  // The delivery of an update that no node waits for goes last.
  jobs_[job] = {-kInfinity, 0.0, tensor, from, to, kNone};
  made_.push_back(job);
  return job;
}

template <Choice kChoice>
void ChannelLinks::enqueue(std::uint32_t job) {
  const std::uint32_t index = lane_of(jobs_[job]);
  Lane& lane = lanes_[index];
  if (!lane.used) {
    lane.used = true;
    used_lanes_.push_back(index);
  }
  lane.jobs.push_back(job);
  if constexpr (kChoice != Choice::kRandom) {
    std::push_heap(lane.jobs.begin(), lane.jobs.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return job_before(b, a); });
    if (lane.channel != kNone && lane.jobs.front() == job) {
      sift_up(queue_of(lane.channel), lane.position);
    }
  }
  if (lane.channel == kNone && !lane.fresh) {
    lane.fresh = true;
    fresh_lanes_.push_back(index);
  }
}

template <Choice kChoice, bool kJitter>
void ChannelLinks::publish(TensorId tensor, std::uint32_t from, std::uint32_t producer,
                           const RunInput& input) {
  const cost::Problem& problem = state_.problem;
  const bool by_bytes = problem.transfer_by_bytes(tensor);
  ++round_;
  made_.clear();
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
  for (const std::uint32_t index : made_) {
    Job& job = jobs_[index];
    if constexpr (kChoice == Choice::kFifo) job.key = -now_;
    if (by_bytes) {
      job.duration = problem.transfer_time(true, problem.tensor_amount(tensor), DeviceId(from),
                                           DeviceId(job.to));
    }
    if constexpr (kJitter) {
      job.duration *= input.jitter->factor(input.seed, transfer_key(tensor.value(), job.to));
    }
    enqueue<kChoice>(index);
  }
}

std::uint32_t ChannelLinks::full_channel_on(const Job& job) const {
  for (const ChannelId channel : state_.problem.route(DeviceId(job.from), DeviceId(job.to))) {
    if (full(channel.value())) return channel.value();
  }
  return kNone;
}

// REQUIRES: the whole route is free.
void ChannelLinks::start(std::uint32_t index, const RunInput& input) {
  const Job& job = jobs_[index];
  for (const ChannelId channel : state_.problem.route(DeviceId(job.from), DeviceId(job.to))) {
    Channel& held = channels_[channel.index()];
    ++held.in_use;
    if (!held.used) {
      held.used = true;
      used_channels_.push_back(channel.value());
    }
  }
  const double end = now_ + job.duration;
  push_event(end, static_cast<std::uint32_t>(state_.nodes.size()) + index);
  if (input.record) {
    input.record->transfers.push_back(
        {job.tensor, NodeId(), DeviceId(job.from), DeviceId(job.to), now_, end});
  }
}

void ChannelLinks::finish(const Job& job) {
  for (const ChannelId channel : state_.problem.route(DeviceId(job.from), DeviceId(job.to))) {
    Channel& held = channels_[channel.index()];
    --held.in_use;
    if (!held.freed) {
      held.freed = true;
      freed_.push_back(channel.value());
    }
  }
}

// The candidates are the fresh lanes and those that wait for a channel with a released unit; every
// other lane has a full channel on its route, and channels only fill up while transfers start.
void ChannelLinks::start_best_first(const RunInput& input) {
  const auto worse_job = [this](std::uint32_t a, std::uint32_t b) { return job_before(b, a); };
  const auto worse_lane = [this](std::uint32_t a, std::uint32_t b) { return lane_before(b, a); };
  std::make_heap(fresh_lanes_.begin(), fresh_lanes_.end(), worse_lane);
  for (;;) {
    std::uint32_t best = fresh_lanes_.empty() ? kNone : fresh_lanes_.front();
    bool best_is_fresh = true;
    for (std::size_t i = 0; i < freed_.size();) {
      const std::uint32_t channel = freed_[i];
      if (queue_of(channel).empty() || full(channel)) {
        channels_[channel].freed = false;
        freed_[i] = freed_.back();
        freed_.pop_back();
        continue;
      }
      const std::uint32_t first = queue_of(channel).front();
      if (best == kNone || lane_before(first, best)) {
        best = first;
        best_is_fresh = false;
      }
      ++i;
    }
    if (best == kNone) break;
    if (best_is_fresh) {
      std::pop_heap(fresh_lanes_.begin(), fresh_lanes_.end(), worse_lane);
      fresh_lanes_.pop_back();
      lanes_[best].fresh = false;
    } else {
      leave_queue(best);
    }
    Lane& lane = lanes_[best];
    std::uint32_t blocked = full_channel_on(jobs_[lane.jobs.front()]);
    if (blocked == kNone) {
      std::pop_heap(lane.jobs.begin(), lane.jobs.end(), worse_job);
      start(lane.jobs.back(), input);
      lane.jobs.pop_back();
      if (lane.jobs.empty()) continue;
      blocked = full_channel_on(jobs_[lane.jobs.front()]);
    }
    if (blocked != kNone) {
      wait_at(blocked, best);
    } else {  // the route has room for more than one
      lane.fresh = true;
      fresh_lanes_.push_back(best);
      std::push_heap(fresh_lanes_.begin(), fresh_lanes_.end(), worse_lane);
    }
  }
}

// A uniform order of all candidates is drawn lazily: the next is any of the jobs left, and a lane
// that turns out to be blocked takes all its jobs out of the draw.
void ChannelLinks::start_in_random_order(const RunInput& input, Rng& rng) {
  for (const std::uint32_t channel : freed_) {
    channels_[channel].freed = false;
    for (const std::uint32_t lane : queue_of(channel)) {
      lanes_[lane].channel = kNone;
      fresh_lanes_.push_back(lane);
    }
    queue_of(channel).clear();
  }
  freed_.clear();
  std::size_t left = 0;
  for (const std::uint32_t lane : fresh_lanes_) left += lanes_[lane].jobs.size();
  while (left > 0) {
    std::size_t pick = rng.below(static_cast<std::uint32_t>(left));
    std::size_t at = 0;
    while (pick >= lanes_[fresh_lanes_[at]].jobs.size())
      pick -= lanes_[fresh_lanes_[at++]].jobs.size();
    const std::uint32_t index = fresh_lanes_[at];
    Lane& lane = lanes_[index];
    const std::uint32_t blocked = full_channel_on(jobs_[lane.jobs[pick]]);
    if (blocked == kNone) {
      start(lane.jobs[pick], input);
      lane.jobs[pick] = lane.jobs.back();
      lane.jobs.pop_back();
      --left;
      continue;
    }
    left -= lane.jobs.size();
    lane.fresh = false;
    lane.channel = blocked;
    queue_of(blocked).push_back(index);
    fresh_lanes_[at] = fresh_lanes_.back();
    fresh_lanes_.pop_back();
  }
  for (const std::uint32_t lane : fresh_lanes_) lanes_[lane].fresh = false;
  fresh_lanes_.clear();
}

template <Choice kChoice, bool kJitter, bool kRecord>
double ChannelLinks::loop(const RunInput& input) {
  RunState& state = state_;
  const cost::Problem& problem = state.problem;
  state.reset(input, kChoice);
  now_ = 0.0;
  event_count_ = job_count_ = 0;
  forget_last_run();
  Rng rng(input.seed);
  const double tail_cutoff = kJitter ? kInfinity : input.cutoff;
  const auto nodes = static_cast<std::uint32_t>(state.nodes.size());
  auto&& ready = state.ready<kChoice>();
  double makespan = 0.0;

  for (const std::uint32_t node : state.sources) {
    const std::uint32_t device = input.device[node].value();
    ready.put(device, node, state.nodes[node]);
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
        makespan = now_;  // a transfer that no node waits for delivers an update, which counts
        if (id < nodes) {
          const std::uint32_t device = input.device[id].value();
          state.running[device] = kNoNode;
          state.touched.insert(device);
          for (const TensorId tensor : problem.graph().outputs(NodeId(id))) {
            publish<kChoice, kJitter>(tensor, device, id, input);
          }
        } else {
          const Job& job = jobs_[id - nodes];
          finish(job);
          const NodeId producer = problem.graph().producer(job.tensor);
          const std::uint32_t cause = producer.valid() ? producer.value() : kNoNode;
          for (std::uint32_t edge = job.first_edge; edge != kNone; edge = next_edge_[edge]) {
            arrive<kChoice>(problem.edges()[edge].consumer.value(), cause, input);
          }
        }
      }
      if (fresh_lanes_.empty() && freed_.empty()) break;
      if constexpr (kChoice == Choice::kRandom) {
        start_in_random_order(input, rng);
      } else {
        start_best_first(input);
      }
      if (event_count_ == 0 || events_[0].key != now_) break;
    }
    // Every free device takes its best ready node.
    bool in_time = true;
    state.touched.for_each([&](std::uint32_t device) {
      if (state.running[device] != kNoNode || ready.empty(device)) return;
      const std::uint32_t node = ready.take(device, rng);
      double duration = state.nodes[node].duration;
      in_time &= (now_ + state.starts[node].tail < tail_cutoff) &
                 (now_ + state.work_left[device] < tail_cutoff);
      state.work_left[device] -= duration;
      if constexpr (kJitter) duration *= input.jitter->factor(input.seed, node_key(node));
      state.note_start(node, device, now_);
      state.running[device] = node;
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
