#include "doppler/place/search/order_search.h"

#include <algorithm>
#include <bit>

#include "doppler/base/error.h"

namespace doppler::place {
namespace {

using cost::kInfinity;

template <class Visit>
void for_each(NodeSet set, const Visit& visit) {
  for (; set != 0; set &= set - 1) visit(static_cast<std::uint32_t>(std::countr_zero(set)));
}

}  // namespace

OrderSearch::OrderSearch(const cost::Problem& problem, SearchBudget& budget)
    : problem_(problem),
      budget_(budget),
      nodes_(problem.node_count()),
      devices_(problem.device_count()),
      channels_(problem.links() == cost::LinkMode::kChannel),
      device_(nodes_),
      time_(nodes_),
      tail_(nodes_),
      delivery_(nodes_),
      edge_time_(problem.edges().size()),
      edge_job_(problem.edges().size()),
      jobs_of_node_(nodes_),
      rules_(nodes_),
      head_(nodes_) {}

double OrderSearch::run(std::span<const DeviceId> device, double limit, const Found& found) {
  prepare(device);
  limit_ = limit;
  left_ = kInfinity;
  rules_.shrink(0);
  if (runs_.empty()) runs_.emplace_back();
  reset(runs_[0]);
  branch(0, found);
  return left_;
}

// --- the assignment ---

void OrderSearch::prepare(std::span<const DeviceId> device) {
  for (std::size_t v = 0; v < nodes_; ++v) {
    device_[v] = device[v].value();
    time_[v] = problem_.compute_time(NodeId::of(v), device[v]);
    delivery_[v] = 0.0;
  }
  std::fill(edge_job_.begin(), edge_job_.end(), kNone);
  for (std::size_t e = 0; e < edge_time_.size(); ++e) {
    const cost::Problem::Edge& edge = problem_.edges()[e];
    const NodeId producer = problem_.graph().producer(edge.tensor);
    const DeviceId from = producer.valid() ? device[producer.index()] : problem_.home(edge.tensor);
    const DeviceId to = device[edge.consumer.index()];
    edge_time_[e] = from == to ? 0.0 : problem_.transfer_time(edge, from, to);
  }
  jobs_.clear();
  jobs_from_homes_.clear();
  for (std::size_t v = 0; v < nodes_; ++v) {
    jobs_of_node_[v].clear();
    for (const TensorId tensor : problem_.graph().outputs(NodeId::of(v))) {
      if (channels_) {
        add_jobs(tensor, device_[v], jobs_of_node_[v]);
        continue;
      }
      for (const NodeId reader : problem_.update_readers(tensor)) {
        if (device[reader.index()] == device[v]) continue;
        delivery_[v] =
            std::max(delivery_[v], problem_.transfer_time(problem_.transfer_by_bytes(tensor),
                                                          problem_.tensor_amount(tensor), device[v],
                                                          device[reader.index()]));
      }
    }
  }
  if (channels_) {
    for (const TensorId tensor : problem_.homed()) {
      add_jobs(tensor, problem_.home(tensor).value(), jobs_from_homes_);
    }
  }
  const auto order = problem_.graph().topological_order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const auto edges = problem_.edges_from(*it);
    const auto first = static_cast<std::size_t>(edges.data() - problem_.edges().data());
    double tail = delivery_[it->index()];
    for (const std::uint32_t job : jobs_of_node_[it->index()]) {
      tail = std::max(tail, jobs_[job].duration);
    }
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const std::size_t consumer = edges[i].consumer.index();
      tail = std::max(tail, edge_time_[first + i] + time_[consumer] + tail_[consumer]);
    }
    tail_[it->index()] = tail;
  }
}

void OrderSearch::add_jobs(TensorId tensor, std::uint32_t from, std::vector<std::uint32_t>& jobs) {
  const bool by_bytes = problem_.transfer_by_bytes(tensor);
  const std::size_t first_new = jobs_.size();
  const auto job_to = [&](std::uint32_t to) {
    for (std::size_t j = first_new; j < jobs_.size(); ++j) {
      if (jobs_[j].to == to) return static_cast<std::uint32_t>(j);
    }
    jobs.push_back(static_cast<std::uint32_t>(jobs_.size()));
    const double duration = by_bytes ? problem_.transfer_time(true, problem_.tensor_amount(tensor),
                                                              DeviceId(from), DeviceId(to))
                                     : 0.0;
    jobs_.push_back({tensor, from, to, duration, 0});
    return jobs.back();
  };
  const auto edges = problem_.edges_of(tensor);
  const auto first_edge = static_cast<std::size_t>(edges.data() - problem_.edges().data());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const std::uint32_t consumer = edges[i].consumer.value();
    if (device_[consumer] == from) continue;
    Job& job = jobs_[edge_job_[first_edge + i] = job_to(device_[consumer])];
    job.consumers |= set_of(consumer);
    if (!by_bytes) job.duration = std::max(job.duration, edges[i].amount);
  }
  for (const NodeId reader : problem_.update_readers(tensor)) {
    if (device_[reader.index()] == from) continue;
    Job& job = jobs_[job_to(device_[reader.index()])];
    if (!by_bytes) job.duration = std::max(job.duration, problem_.tensor_amount(tensor));
  }
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (edge_job_[first_edge + i] != kNone) {
      edge_time_[first_edge + i] = jobs_[edge_job_[first_edge + i]].duration;
    }
  }
}

void OrderSearch::reset(Run& run) {
  run.now = run.makespan = 0.0;
  run.phase = Phase::kTransfers;
  run.next_device = 0;
  run.zero_started = false;
  run.started = 0;
  run.pending = 0;
  run.ready.assign(devices_, 0);
  run.running.assign(devices_, kNone);
  run.end.assign(nodes_, kInfinity);
  run.ready_at.assign(nodes_, 0.0);
  run.missing.resize(nodes_);
  run.start_number.assign(nodes_, 0);
  run.job_state.assign(jobs_.size(), JobState::kNotReady);
  run.job_end.assign(jobs_.size(), kInfinity);
  run.channel_free.resize(problem_.channel_count());
  for (std::size_t c = 0; c < run.channel_free.size(); ++c) {
    run.channel_free[c] = problem_.channel_capacity(ChannelId::of(c));
  }
  for (std::uint32_t v = 0; v < nodes_; ++v) {
    run.missing[v] = static_cast<std::uint32_t>(problem_.awaited(NodeId(v)).size());
    if (run.missing[v] == 0) run.ready[device_[v]] |= set_of(v);
  }
  for (const TensorId tensor : problem_.homed()) {
    const auto edges = problem_.edges_of(tensor);
    const auto first = static_cast<std::size_t>(edges.data() - problem_.edges().data());
    for (std::size_t i = 0; i < edges.size(); ++i) {
      if (edge_job_[first + i] == kNone) {
        arrive(run, edges[i].consumer.value(), edge_time_[first + i]);
      }
    }
  }
  for (const std::uint32_t job : jobs_from_homes_) run.job_state[job] = JobState::kWaiting;
}

// --- one run ---

void OrderSearch::advance(Run& run) {
  for (;;) {
    switch (run.phase) {
      case Phase::kEvents:
        apply_events(run);
        run.phase = Phase::kTransfers;
        run.zero_started = false;
        break;
      case Phase::kTransfers:
        if (!start_transfers(run)) return;
        run.phase = run.zero_started ? Phase::kEvents : Phase::kNodes;
        run.next_device = 0;
        run.zero_started = false;
        break;
      case Phase::kNodes:
        if (!start_nodes(run)) return;
        if (!run.zero_started) next_moment(run);
        if (run.now == kInfinity) {
          run.phase = Phase::kEnded;
        } else {
          run.phase = Phase::kEvents;
        }
        break;
      case Phase::kEnded:
        return;
    }
  }
}

void OrderSearch::apply_events(Run& run) {
  for (std::uint32_t d = 0; d < devices_; ++d) {
    const std::uint32_t node = run.running[d];
    if (node != kNone && run.end[node] == run.now) end_node(run, node);
  }
  for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
    if (run.job_state[j] == JobState::kMoving && run.job_end[j] == run.now) end_job(run, j);
  }
  for_each(run.pending, [&](std::uint32_t node) {
    if (run.ready_at[node] > run.now) return;
    run.pending &= ~set_of(node);
    run.ready[device_[node]] |= set_of(node);
  });
}

void OrderSearch::end_node(Run& run, std::uint32_t node) {
  run.running[device_[node]] = kNone;
  run.makespan = std::max(run.makespan, run.now + delivery_[node]);
  const auto edges = problem_.edges_from(NodeId(node));
  const auto first = static_cast<std::size_t>(edges.data() - problem_.edges().data());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (edge_job_[first + i] != kNone) continue;
    arrive(run, edges[i].consumer.value(), run.now + edge_time_[first + i]);
  }
  for (const std::uint32_t job : jobs_of_node_[node]) run.job_state[job] = JobState::kWaiting;
}

void OrderSearch::end_job(Run& run, std::uint32_t job) {
  run.job_state[job] = JobState::kThere;
  run.makespan = std::max(run.makespan, run.now);
  for (const ChannelId channel : route(jobs_[job])) ++run.channel_free[channel.index()];
  for_each(jobs_[job].consumers, [&](std::uint32_t node) { arrive(run, node, run.now); });
}

void OrderSearch::arrive(Run& run, std::uint32_t node, double time) {
  run.ready_at[node] = std::max(run.ready_at[node], time);
  if (--run.missing[node] > 0) return;
  if (run.ready_at[node] <= run.now) {
    run.ready[device_[node]] |= set_of(node);
  } else {
    run.pending |= set_of(node);
  }
}

void OrderSearch::start_node(Run& run, std::uint32_t node) {
  run.ready[device_[node]] &= ~set_of(node);
  run.running[device_[node]] = node;
  run.end[node] = run.now + time_[node];
  run.start_number[node] = run.started++;
  run.zero_started |= run.end[node] == run.now;
}

void OrderSearch::start_job(Run& run, std::uint32_t job) {
  run.job_state[job] = JobState::kMoving;
  run.job_end[job] = run.now + jobs_[job].duration;
  for (const ChannelId channel : route(jobs_[job])) --run.channel_free[channel.index()];
  run.zero_started |= run.job_end[job] == run.now;
}

bool OrderSearch::can_start(const Run& run, const Job& job) const {
  const auto channels = route(job);
  return std::all_of(channels.begin(), channels.end(),
                     [&](ChannelId channel) { return run.channel_free[channel.index()] > 0; });
}

// A channel is contested where more jobs could start on it than it has free units. Jobs that share
// a contested channel, directly or through others, form a component. The best of a component starts
// whatever happens elsewhere, so it alone is a choice; a job on no contested channel is none.
bool OrderSearch::start_transfers(Run& run) {
  for (;;) {
    startable_.clear();
    wanted_.assign(run.channel_free.size(), 0);
    for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
      if (run.job_state[j] != JobState::kWaiting || !can_start(run, jobs_[j])) continue;
      startable_.push_back(j);
      for (const ChannelId channel : route(jobs_[j])) ++wanted_[channel.index()];
    }
    if (startable_.empty()) return true;
    const auto contested = [&](ChannelId channel) {
      return wanted_[channel.index()] > run.channel_free[channel.index()];
    };
    const auto conflict = [&](std::uint32_t a, std::uint32_t b) {
      for (const ChannelId channel : route(jobs_[a])) {
        const auto other = route(jobs_[b]);
        if (contested(channel) && std::find(other.begin(), other.end(), channel) != other.end()) {
          return true;
        }
      }
      return false;
    };
    options_.assign(1, startable_.front());
    for (std::size_t i = 0; i < options_.size(); ++i) {
      for (const std::uint32_t job : startable_) {
        if (std::find(options_.begin(), options_.end(), job) == options_.end() &&
            conflict(options_[i], job)) {
          options_.push_back(job);
        }
      }
    }
    if (options_.size() > 1) {
      options_are_jobs_ = true;
      return false;
    }
    start_job(run, options_.front());
  }
}

bool OrderSearch::start_nodes(Run& run) {
  for (; run.next_device < devices_; ++run.next_device) {
    const NodeSet ready = run.ready[run.next_device];
    if (run.running[run.next_device] != kNone || ready == 0) continue;
    if (std::has_single_bit(ready)) {
      start_node(run, static_cast<std::uint32_t>(std::countr_zero(ready)));
      continue;
    }
    options_.clear();
    for_each(ready, [&](std::uint32_t node) { options_.push_back(node); });
    options_are_jobs_ = false;
    return false;
  }
  return true;
}

void OrderSearch::next_moment(Run& run) const {
  double next = kInfinity;
  for (const std::uint32_t node : run.running) {
    if (node != kNone) next = std::min(next, run.end[node]);
  }
  for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
    if (run.job_state[j] == JobState::kMoving) next = std::min(next, run.job_end[j]);
  }
  for_each(run.pending, [&](std::uint32_t node) { next = std::min(next, run.ready_at[node]); });
  run.now = next;
}

// --- the search ---

// Returns what the run takes at least: longest paths and one-machine bounds from here, transfers
// uncontended.
double OrderSearch::bound(const Run& run) {
  double least = run.makespan;
  for (const NodeId id : problem_.graph().topological_order()) {
    const std::uint32_t v = id.value();
    if (run.end[v] < kInfinity) {  // has started
      head_[v] = run.end[v] - time_[v];
      if (run.end[v] >= run.now) least = std::max(least, run.end[v] + tail_[v]);
      continue;
    }
    double head = run.now;
    if (const std::uint32_t busy = run.running[device_[v]]; busy != kNone) {
      head = std::max(head, run.end[busy]);
    }
    for (const std::uint32_t e : problem_.awaited_edges(id)) {
      const NodeId producer = problem_.graph().producer(problem_.edges()[e].tensor);
      double from = 0.0;
      if (producer.valid()) {
        from = run.end[producer.index()] < kInfinity
                   ? run.end[producer.index()]
                   : head_[producer.index()] + time_[producer.index()];
      }
      const std::uint32_t job = edge_job_[e];
      if (job == kNone) {
        head = std::max(head, from + edge_time_[e]);
      } else if (run.job_state[job] == JobState::kMoving) {
        head = std::max(head, run.job_end[job]);
      } else if (run.job_state[job] != JobState::kThere) {
        head = std::max(head, std::max(from, run.now) + jobs_[job].duration);
      }
    }
    head_[v] = head;
    least = std::max(least, head + time_[v] + tail_[v]);
  }
  if (least >= limit_) return least;
  for (std::uint32_t d = 0; d < devices_; ++d) {
    machine_.clear();
    for (std::uint32_t v = 0; v < nodes_; ++v) {
      if (device_[v] == d && run.end[v] == kInfinity) {
        machine_.push_back({head_[v], time_[v], tail_[v]});
      }
    }
    least = std::max(least, machine_bound(machine_));
  }
  return least;
}

// The longest way from the start of an option to the end of the run.
double OrderSearch::urgency(std::uint32_t option, bool is_job) const {
  if (!is_job) return time_[option] + tail_[option];
  double longest = 0.0;
  for_each(jobs_[option].consumers,
           [&](std::uint32_t node) { longest = std::max(longest, time_[node] + tail_[node]); });
  return jobs_[option].duration + longest;
}

// "The winner is best of the options", by the choice rule and its ties.
void OrderSearch::add_rules(std::span<const std::uint32_t> options, std::uint32_t winner,
                            bool are_jobs) {
  for (const std::uint32_t other : options) {
    if (other == winner) continue;
    if (are_jobs) {
      const Job& a = jobs_[winner];
      const Job& b = jobs_[other];
      const bool wins_ties = a.tensor != b.tensor ? a.tensor < b.tensor : a.to < b.to;
      rules_.add({a.consumers, b.consumers, !wins_ties});
    } else {
      rules_.add({set_of(winner), set_of(other), winner > other});
    }
  }
}

void OrderSearch::branch(std::size_t depth, const Found& found) {
  advance(runs_[depth]);
  if (runs_[depth].phase == Phase::kEnded) {
    if (runs_[depth].makespan >= limit_) return;
    if (channels_) {
      rules_.priorities(priority_);
    } else {
      priority_.resize(nodes_);
      for (std::size_t v = 0; v < nodes_; ++v) priority_[v] = -double(runs_[depth].start_number[v]);
    }
    limit_ = found(runs_[depth].makespan, priority_);
    return;
  }
  while (runs_.size() <= depth + 1) runs_.emplace_back();
  while (choices_.size() <= depth) choices_.emplace_back();
  const bool are_jobs = options_are_jobs_;
  std::vector<std::uint32_t>& options = choices_[depth];
  options = options_;
  const double least = bound(runs_[depth]);
  if (least >= limit_) return;
  if (!budget_.step()) {
    left_ = std::min(left_, least);
    return;
  }
  std::stable_sort(options.begin(), options.end(), [&](std::uint32_t a, std::uint32_t b) {
    return urgency(a, are_jobs) > urgency(b, are_jobs);
  });
  for (const std::uint32_t option : options) {
    if (least >= limit_) return;
    if (budget_.spent()) {
      left_ = std::min(left_, least);
      return;
    }
    const std::size_t rules = rules_.size();
    if (channels_) add_rules(options, option, are_jobs);
    if (!channels_ || rules_.consistent()) {
      runs_[depth + 1] = runs_[depth];
      if (are_jobs) {
        start_job(runs_[depth + 1], option);
      } else {
        start_node(runs_[depth + 1], option);
      }
      branch(depth + 1, found);
    }
    rules_.shrink(rules);
  }
}

}  // namespace doppler::place
