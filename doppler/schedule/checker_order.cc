// The rules of work conservation and of choice.
//
// They are judged over time, and at each moment only as far as a timeline can tell
// (Facts::node_early): what certainly was ready when something else started, and itself started
// later, must be worse.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <span>
#include <tuple>
#include <utility>

#include "doppler/schedule/checker_facts.h"

namespace doppler::schedule {
namespace {

// Smaller is better. `first` is minus the priority or the time of readiness.
struct Rank {
  double first;
  std::uint32_t second, third;
  friend auto operator<=>(const Rank&, const Rank&) = default;
};

Rank node_rank(const Facts& facts, NodeId node) {
  const bool fifo = facts.timeline.choice == Choice::kFifo;
  return {fifo ? facts.node_ready[node.index()] : -facts.timeline.priority[node.index()],
          node.value(), 0};
}

Rank transfer_rank(const Facts& facts, std::uint32_t i) {
  const TransferRun& run = facts.timeline.transfers[i];
  const bool fifo = facts.timeline.choice == Choice::kFifo;
  return {fifo ? facts.transfer_ready[i] : -facts.transfer_priority[i], run.tensor.value(),
          run.to.value()};
}

// Something with this readiness was waiting when another started at `start`.
bool was_waiting(const Facts& facts, double ready, bool early, double start) {
  return facts.before(ready, start) || (facts.options.tolerance == 0.0 && early && ready == start);
}

// Who waits, best first. What has started meanwhile is dropped when it comes up.
using Waiting = std::priority_queue<std::pair<Rank, std::uint32_t>,
                                    std::vector<std::pair<Rank, std::uint32_t>>, std::greater<>>;

// One device: `nodes` by start.
class DeviceOrder {
 public:
  DeviceOrder(const Facts& facts, std::span<const NodeId> nodes) : facts_(facts), nodes_(nodes) {}

  void check() const {
    check_idling();
    if (facts_.timeline.choice != Choice::kRandom) check_choice();
  }

 private:
  double start(NodeId node) const { return facts_.timeline.nodes[node.index()].start; }
  double ready(NodeId node) const { return facts_.node_ready[node.index()]; }

  // A node that waits from its readiness to its start must find the device busy all the while. Of
  // the gaps before its start it is enough to ask the last, which reaches furthest.
  void check_idling() const {
    double idle_until = 0.0, busy_until = 0.0;
    for (const NodeId node : nodes_) {
      if (facts_.before(busy_until, start(node))) idle_until = start(node);
      busy_until = std::max(busy_until, facts_.timeline.nodes[node.index()].end);
      if (!facts_.before(ready(node), idle_until)) continue;
      facts_.violations.add([&] {
        return fmt::format("{} was ready at {} and started at {}, but its device idled until {}",
                           facts_.name(node), ready(node), start(node), idle_until);
      });
    }
  }

  void check_choice() const {
    std::vector<NodeId> by_ready(nodes_.begin(), nodes_.end());
    std::sort(by_ready.begin(), by_ready.end(),
              [&](NodeId a, NodeId b) { return std::pair(ready(a), a) < std::pair(ready(b), b); });
    Waiting waiting;
    std::size_t next = 0;
    std::vector<NodeId> late;  // became ready at the current moment, perhaps after this start
    for (const NodeId node : nodes_) {
      const double now = start(node);
      const auto admit = [&](NodeId other) {
        if (!was_waiting(facts_, ready(other), facts_.node_early[other.index()] != 0, now)) {
          return false;
        }
        waiting.push({node_rank(facts_, other), other.value()});
        return true;
      };
      std::erase_if(late, admit);
      for (; next < by_ready.size() && ready(by_ready[next]) <= now; ++next) {
        if (!admit(by_ready[next])) late.push_back(by_ready[next]);
      }
      while (!waiting.empty() && start(NodeId(waiting.top().second)) <= now) waiting.pop();
      if (waiting.empty() || waiting.top().first > node_rank(facts_, node)) continue;
      facts_.violations.add([&] {
        return fmt::format("{} started at {} though {}, which is better, had been ready since {}",
                           facts_.name(node), now, facts_.name(NodeId(waiting.top().second)),
                           ready(NodeId(waiting.top().second)));
      });
    }
  }

  const Facts& facts_;
  std::span<const NodeId> nodes_;
};

// All channels together.
class ChannelOrder {
 public:
  explicit ChannelOrder(const Facts& facts)
      : facts_(facts), transfers_(facts.timeline.transfers), full_(facts.problem.channel_count()) {
    for (std::uint32_t i = 0; i < transfers_.size(); ++i) by_start_.push_back(i);
    std::sort(by_start_.begin(), by_start_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(transfers_[a].start, a) < std::pair(transfers_[b].start, b);
    });
  }

  void check() {
    find_full_intervals();
    for (std::uint32_t i = 0; i < transfers_.size(); ++i) check_waiting(i);
    if (facts_.timeline.choice != Choice::kRandom) check_choice();
  }

 private:
  struct Interval {
    double begin, end;
  };

  std::span<const ChannelId> route(std::uint32_t i) const {
    return facts_.problem.route(transfers_[i].from, transfers_[i].to);
  }
  bool takes_time(std::uint32_t i) const { return transfers_[i].start < transfers_[i].end; }

  // Per channel: when all of its capacity was in use; intervals that touch are one.
  void find_full_intervals() {
    struct Event {
      double time;
      int change;
      ChannelId channel;
    };
    std::vector<Event> events;
    for (std::uint32_t i = 0; i < transfers_.size(); ++i) {
      if (!takes_time(i)) continue;
      for (const ChannelId channel : route(i)) {
        events.push_back({transfers_[i].start, +1, channel});
        events.push_back({transfers_[i].end, -1, channel});
      }
    }
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return std::tie(a.channel, a.time, a.change) < std::tie(b.channel, b.time, b.change);
    });
    std::uint32_t used = 0;  // ends at 0 after each channel
    double since = 0.0;
    for (const Event& event : events) {
      const std::uint32_t capacity = facts_.problem.channel_capacity(event.channel);
      std::vector<Interval>& full = full_[event.channel.index()];
      if (event.change < 0 && used-- == capacity) {
        if (!full.empty() && !facts_.before(full.back().end, since)) {
          full.back().end = event.time;
        } else {
          full.push_back({since, event.time});
        }
      } else if (event.change > 0 && ++used == capacity) {
        since = event.time;
      }
    }
  }

  // Until when the channel stays full from `time` on; `time` itself where it is not.
  double full_until(ChannelId channel, double time) const {
    const std::vector<Interval>& full = full_[channel.index()];
    auto it =
        std::upper_bound(full.begin(), full.end(), time + facts_.options.tolerance,
                         [](double t, const Interval& interval) { return t < interval.begin; });
    return it == full.begin() ? time : std::max(time, std::prev(it)->end);
  }

  // While a transfer waits, some channel of its route is full at every moment.
  void check_waiting(std::uint32_t i) const {
    double covered = facts_.transfer_ready[i];
    while (facts_.before(covered, transfers_[i].start)) {
      double until = covered;
      for (const ChannelId channel : route(i)) {
        until = std::max(until, full_until(channel, covered));
      }
      if (until <= covered) {
        facts_.violations.add([&] {
          return fmt::format("{} waited until {} though its route was free at {}",
                             facts_.name(transfers_[i]), transfers_[i].start, covered);
        });
        return;
      }
      covered = until;
    }
  }

  // At each moment at which transfers start: a transfer that certainly waited and did not start
  // must have found a channel full with those that were under way and with better ones that started
  // now. Transfers between the same two devices have one route, so it is enough to ask the best of
  // them that waits.
  void check_choice() {
    std::map<std::pair<DeviceId, DeviceId>, std::uint32_t> route_ids;
    std::vector<std::uint32_t> route_of;
    for (const TransferRun& run : transfers_) {
      route_of.push_back(
          route_ids.try_emplace({run.from, run.to}, static_cast<std::uint32_t>(route_ids.size()))
              .first->second);
    }
    std::vector<Waiting> waiting(route_ids.size());
    std::vector<std::vector<std::uint32_t>> routes_through(facts_.problem.channel_count());
    for (const auto& [pair, id] : route_ids) {
      for (const ChannelId channel : facts_.problem.route(pair.first, pair.second)) {
        routes_through[channel.index()].push_back(id);
      }
    }
    std::vector<std::uint32_t> by_ready = by_start_;
    std::sort(by_ready.begin(), by_ready.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(facts_.transfer_ready[a], a) < std::pair(facts_.transfer_ready[b], b);
    });
    using End = std::pair<double, std::uint32_t>;
    std::priority_queue<End, std::vector<End>, std::greater<>> under_way;
    in_use_.assign(facts_.problem.channel_count(), 0);
    starting_on_.resize(facts_.problem.channel_count());
    std::vector<std::uint32_t> late, asked(route_ids.size(), 0xffffffffu);

    std::size_t next_ready = 0;
    for (std::size_t first = 0, last = 0; first < by_start_.size(); first = last) {
      const double now = transfers_[by_start_[first]].start;
      while (last < by_start_.size() && transfers_[by_start_[last]].start == now) ++last;
      const std::span starting(by_start_.begin() + static_cast<std::ptrdiff_t>(first),
                               last - first);
      for (; !under_way.empty() && under_way.top().first <= now; under_way.pop()) {
        for (const ChannelId channel : route(under_way.top().second)) --in_use_[channel.index()];
      }
      const auto admit = [&](std::uint32_t i) {
        if (!was_waiting(facts_, facts_.transfer_ready[i], facts_.transfer_early[i] != 0, now)) {
          return false;
        }
        waiting[route_of[i]].push({transfer_rank(facts_, i), i});
        return true;
      };
      std::erase_if(late, admit);
      for (; next_ready < by_ready.size() && facts_.transfer_ready[by_ready[next_ready]] <= now;
           ++next_ready) {
        if (!admit(by_ready[next_ready])) late.push_back(by_ready[next_ready]);
      }
      for (const std::uint32_t i : starting) {
        for (const ChannelId channel : route(i)) starting_on_[channel.index()].push_back(i);
      }
      for (const std::uint32_t i : starting) {
        for (const ChannelId channel : route(i)) {
          for (const std::uint32_t id : routes_through[channel.index()]) {
            if (std::exchange(asked[id], by_start_[first]) != by_start_[first]) {
              check_best_of(waiting[id], now, i);
            }
          }
        }
      }
      for (const std::uint32_t i : starting) {
        for (const ChannelId channel : route(i)) {
          starting_on_[channel.index()].clear();
          if (takes_time(i)) ++in_use_[channel.index()];
        }
        if (takes_time(i)) under_way.push({transfers_[i].end - facts_.options.tolerance, i});
      }
    }
  }

  void check_best_of(Waiting& waiting, double now, std::uint32_t started) const {
    while (!waiting.empty() && transfers_[waiting.top().second].start <= now) waiting.pop();
    if (waiting.empty()) return;
    const auto [rank, best] = waiting.top();
    for (const ChannelId channel : route(best)) {
      std::uint32_t taken = in_use_[channel.index()];
      for (const std::uint32_t i : starting_on_[channel.index()]) {
        if (transfer_rank(facts_, i) < rank) ++taken;
      }
      if (taken >= facts_.problem.channel_capacity(channel)) return;
    }
    facts_.violations.add([&, waits = best] {
      return fmt::format("{} started at {} though {}, which is better, could have",
                         facts_.name(transfers_[started]), now, facts_.name(transfers_[waits]));
    });
  }

  const Facts& facts_;
  std::span<const TransferRun> transfers_;
  std::vector<std::uint32_t> by_start_;
  std::vector<std::vector<Interval>> full_;  // by channel, in order
  // At the moment under test, by channel: transfers under way, and those that start.
  std::vector<std::uint32_t> in_use_;
  std::vector<std::vector<std::uint32_t>> starting_on_;
};

}  // namespace

void check_node_order(const Facts& facts) {
  const Timeline& timeline = facts.timeline;
  std::vector<NodeId> order;
  for (std::size_t v = 0; v < timeline.nodes.size(); ++v) order.push_back(NodeId::of(v));
  const auto key = [&](NodeId node) {
    const NodeRun& run = timeline.nodes[node.index()];
    return std::tuple(timeline.device[node.index()], run.start, run.end, node);
  };
  std::sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return key(a) < key(b); });
  for (auto first = order.begin(); first != order.end();) {
    const DeviceId device = timeline.device[first->index()];
    const auto last = std::find_if(
        first, order.end(), [&](NodeId node) { return timeline.device[node.index()] != device; });
    DeviceOrder(facts, {first, last}).check();
    first = last;
  }
}

void check_transfer_order(const Facts& facts) {
  if (facts.problem.links() == cost::LinkMode::kChannel) ChannelOrder(facts).check();
}

}  // namespace doppler::schedule
