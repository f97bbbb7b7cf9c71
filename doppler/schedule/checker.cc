#include "doppler/schedule/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "doppler/schedule/checker_facts.h"
#include "doppler/schedule/memory.h"

namespace doppler::schedule {

using cost::kInfinity;
using cost::LinkMode;
using cost::Problem;

std::string Facts::name(NodeId node) const {
  return fmt::format("node '{}'", problem.graph().node_name(node));
}
std::string Facts::name(DeviceId device) const {
  return fmt::format("'{}'", problem.topology().device(device).name);
}
std::string Facts::name(ChannelId channel) const {
  return fmt::format("channel '{}'", problem.topology().channel(channel).name);
}
std::string Facts::name(const TransferRun& run) const {
  return fmt::format("the transfer of '{}' to {}", problem.graph().tensor_name(run.tensor),
                     name(run.to));
}

namespace {

// Sizes, ids, and times that are numbers: what the other rules rely on.
bool well_formed(const Facts& facts) {
  const cost::Problem& problem = facts.problem;
  const Timeline& timeline = facts.timeline;
  Violations& violations = facts.violations;
  const std::size_t nodes = problem.node_count();
  if (timeline.nodes.size() != nodes || timeline.device.size() != nodes ||
      timeline.priority.size() != nodes) {
    violations.add([&] {
      return fmt::format("the timeline is of {} nodes, the problem has {}", timeline.nodes.size(),
                         nodes);
    });
    return false;
  }
  const auto sound = [](double start, double end) {
    return std::isfinite(start) && std::isfinite(end) && start >= 0.0 && end >= start;
  };
  for (std::size_t v = 0; v < nodes; ++v) {
    const NodeId node = NodeId::of(v);
    if (timeline.device[v].index() >= problem.device_count()) {
      violations.add([&] { return facts.name(node) + " ran on a device that does not exist"; });
    } else if (!problem.allowed(node, timeline.device[v])) {
      violations.add([&] {
        return fmt::format("{} must not run on {}", facts.name(node),
                           facts.name(timeline.device[v]));
      });
    } else if (!sound(timeline.nodes[v].start, timeline.nodes[v].end)) {
      violations.add([&] {
        return fmt::format("{} ran from {} to {}", facts.name(node), timeline.nodes[v].start,
                           timeline.nodes[v].end);
      });
    } else if (std::isnan(timeline.priority[v])) {
      violations.add([&] { return facts.name(node) + " has a priority that is not a number"; });
    }
  }
  for (const TransferRun& run : timeline.transfers) {
    if (run.tensor.index() >= problem.tensor_count() ||
        run.from.index() >= problem.device_count() || run.to.index() >= problem.device_count() ||
        (run.consumer.valid() && run.consumer.index() >= nodes)) {
      violations.add([] { return std::string("a transfer names something that does not exist"); });
    } else if (!sound(run.start, run.end)) {
      violations.add(
          [&] { return fmt::format("{} ran from {} to {}", facts.name(run), run.start, run.end); });
    }
  }
  if (!violations.empty()) return false;
  for (std::size_t v = 0; v < nodes; ++v) {
    const NodeId first = problem.unit(problem.unit_of(NodeId::of(v))).front();
    if (timeline.device[first.index()] != timeline.device[v]) {
      violations.add([&] {
        return fmt::format("{} and {} must share a device", facts.name(NodeId::of(v)),
                           facts.name(first));
      });
    }
  }
  return violations.empty();
}

void check_node_durations(const Facts& facts) {
  for (std::size_t v = 0; v < facts.problem.node_count(); ++v) {
    const NodeRun& run = facts.timeline.nodes[v];
    const double cost = facts.problem.compute_time(NodeId::of(v), facts.timeline.device[v]);
    if (facts.differ(run.end, run.start + cost)) {
      facts.violations.add([&] {
        return fmt::format("{} ran from {} to {} but takes {} on {}", facts.name(NodeId::of(v)),
                           run.start, run.end, cost, facts.name(facts.timeline.device[v]));
      });
    }
  }
}

void check_devices(const Facts& facts) {
  const auto& nodes = facts.timeline.nodes;
  std::vector<NodeId> order(nodes.size());
  for (std::size_t v = 0; v < order.size(); ++v) order[v] = NodeId::of(v);
  const auto key = [&](NodeId node) {
    const NodeRun& run = nodes[node.index()];
    return std::tuple(facts.timeline.device[node.index()], run.start, run.end, node);
  };
  std::sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return key(a) < key(b); });
  NodeId last;  // on the same device, the one that ended last so far
  for (const NodeId node : order) {
    const DeviceId device = facts.timeline.device[node.index()];
    if (!last.valid() || facts.timeline.device[last.index()] != device) {
      last = node;
      continue;
    }
    if (facts.before(nodes[node.index()].start, nodes[last.index()].end)) {
      facts.violations.add([&] {
        return fmt::format("{} started at {} on {}, where {} ran until {}", facts.name(node),
                           nodes[node.index()].start, facts.name(device), facts.name(last),
                           nodes[last.index()].end);
      });
    }
    if (nodes[node.index()].end >= nodes[last.index()].end) last = node;
  }
}

// At no time more transfers on a channel than its capacity. At one moment: what ends leaves first,
// then come transfers of zero duration (which do not stay), then those that stay.
void check_channels(const Facts& facts) {
  if (facts.problem.links() != LinkMode::kChannel) return;
  enum Kind : std::uint8_t { kEnd, kMoment, kStart };
  struct Event {
    double time;
    Kind kind;
    std::uint32_t transfer;
  };
  std::vector<Event> events;
  for (std::uint32_t i = 0; i < facts.timeline.transfers.size(); ++i) {
    const TransferRun& run = facts.timeline.transfers[i];
    const double end = run.end - facts.options.tolerance;
    if (end <= run.start) {
      events.push_back({run.start, kMoment, i});
    } else {
      events.push_back({run.start, kStart, i});
      events.push_back({end, kEnd, i});
    }
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tie(a.time, a.kind, a.transfer) < std::tie(b.time, b.kind, b.transfer);
  });
  std::vector<std::uint32_t> in_use(facts.problem.channel_count(), 0);
  for (const Event& event : events) {
    const TransferRun& run = facts.timeline.transfers[event.transfer];
    for (const ChannelId channel : facts.problem.route(run.from, run.to)) {
      std::uint32_t& used = in_use[channel.index()];
      if (event.kind == kEnd) {
        --used;
        continue;
      }
      if (used >= facts.problem.channel_capacity(channel)) {
        facts.violations.add([&] {
          return fmt::format("{} started at {} while {} was full ({} at once)", facts.name(run),
                             run.start, facts.name(channel), used);
        });
      }
      if (event.kind == kStart) ++used;
    }
  }
}

void check_makespan(const Facts& facts) {
  double last = 0.0;
  for (const NodeRun& run : facts.timeline.nodes) last = std::max(last, run.end);
  // The last barrier of a synchronous run is paid too.
  if (!facts.phase_start.empty()) last = std::max(last, facts.phase_start.back());
  for (const TransferRun& run : facts.timeline.transfers) last = std::max(last, run.end);
  if (facts.differ(facts.timeline.makespan, last)) {
    facts.violations.add([&] {
      return fmt::format("the makespan is given as {} but the run ended at {}",
                         facts.timeline.makespan, last);
    });
  }
}

void check_memory(const Facts& facts) {
  MemoryMeter meter(facts.problem);
  meter.measure(facts.timeline);
  if (meter.excess_bytes() > 0.0) {
    facts.violations.add([&] { return explain_excess(facts.problem, meter); });
  }
}

}  // namespace

std::vector<std::string> check_timeline(const Problem& problem, const Timeline& timeline,
                                        const CheckOptions& options) {
  Violations violations;
  Facts facts{
      .problem = problem, .timeline = timeline, .options = options, .violations = violations};
  if (!well_formed(facts)) return violations.take();
  if (options.durations) check_node_durations(facts);
  const bool synchronous = timeline.mode == Mode::kSynchronous;
  if (synchronous) find_levels(facts);
  check_transfers(facts);
  check_devices(facts);
  check_channels(facts);
  if (synchronous) find_phases(facts);
  check_makespan(facts);
  if (options.memory) check_memory(facts);
  // The remaining rules take it for granted that every transfer is one of those expected.
  if (!violations.empty()) return violations.take();
  if (synchronous) check_levels(facts);
  if (options.work_conserving) {
    if (!synchronous) check_node_order(facts);
    check_transfer_order(facts);
  }
  return violations.take();
}

// The rules of synchronous runs. Level by level: transfers, barrier, nodes, barrier; after the last
// level only deliveries of updates may follow.

void find_levels(Facts& facts) {
  const cost::Problem& problem = facts.problem;
  facts.node_level.assign(problem.node_count(), 0);
  std::uint32_t levels = 0;
  for (const NodeId node : problem.graph().topological_order()) {
    const std::uint32_t level = facts.node_level[node.index()];
    levels = std::max(levels, level + 1);
    for (const TensorId tensor : problem.graph().outputs(node)) {
      for (const NodeId consumer : problem.graph().consumers(tensor)) {
        std::uint32_t& next = facts.node_level[consumer.index()];
        next = std::max(next, level + 1);
      }
    }
  }
  facts.phase_start.assign(levels + 1, 0.0);
}

void find_phases(Facts& facts) {
  const cost::Problem& problem = facts.problem;
  const Timeline& timeline = facts.timeline;
  const auto levels = static_cast<std::uint32_t>(facts.phase_start.size() - 1);
  for (std::size_t v = 0; v < problem.node_count(); ++v) {
    double& next = facts.phase_start[facts.node_level[v] + 1];
    next = std::max(next, timeline.nodes[v].end + facts.options.barrier_time);
  }

  // A transfer belongs to the first level that needs it. Updates that are delivered may go earlier,
  // in any phase after they were made, or at the very end.
  for (std::size_t i = 0; i < timeline.transfers.size(); ++i) {
    const TransferRun& run = timeline.transfers[i];
    std::uint32_t phase = levels;
    if (run.consumer.valid()) {
      phase = facts.node_level[run.consumer.index()];
    } else {
      for (const NodeId consumer : problem.graph().consumers(run.tensor)) {
        if (timeline.device[consumer.index()] != run.to) continue;
        phase = std::min(phase, facts.node_level[consumer.index()]);
      }
    }
    if (!run.consumer.valid() && !problem.update_readers(run.tensor).empty()) {
      while (phase > 0 && facts.phase_start[phase] > run.start) --phase;
    }
    facts.transfer_phase.push_back(phase);
    facts.transfer_ready[i] = facts.phase_start[phase];
    // Where two phases begin at one moment, the earlier one's transfers do not compete with these.
    facts.transfer_early[i] = phase == 0 || facts.phase_start[phase - 1] < facts.phase_start[phase];
  }
}

void check_levels(const Facts& facts) {
  const Timeline& timeline = facts.timeline;
  const bool waits_for_nothing =
      facts.problem.links() == cost::LinkMode::kFree && facts.options.work_conserving;
  std::vector<double> moved = facts.phase_start;  // by level: when its last transfer ended
  for (std::size_t i = 0; i < timeline.transfers.size(); ++i) {
    const TransferRun& run = timeline.transfers[i];
    const std::uint32_t phase = facts.transfer_phase[i];
    moved[phase] = std::max(moved[phase], run.end);
    if (facts.before(run.start, facts.phase_start[phase])) {
      facts.violations.add([&] {
        return fmt::format("{} started at {}, before the barrier of its level at {}",
                           facts.name(run), run.start, facts.phase_start[phase]);
      });
    }
    if (waits_for_nothing && facts.before(facts.phase_start[phase], run.start)) {
      facts.violations.add([&] {
        return fmt::format("{} started at {} though nothing held it back after {}", facts.name(run),
                           run.start, facts.phase_start[phase]);
      });
    }
  }

  // Each device runs a level's nodes in the order of the choice rule (all became ready together).
  std::vector<NodeId> order;
  for (std::size_t v = 0; v < timeline.nodes.size(); ++v) order.push_back(NodeId::of(v));
  const bool by_priority = timeline.choice == Choice::kPriority;
  const auto rank = [&](NodeId node) {
    return std::pair(by_priority ? -timeline.priority[node.index()] : 0.0, node);
  };
  const auto group = [&](NodeId node) {
    return std::pair(facts.node_level[node.index()], timeline.device[node.index()]);
  };
  const auto key = [&](NodeId node) {
    const NodeRun& run = timeline.nodes[node.index()];
    return std::tuple(group(node), run.start, run.end, rank(node));
  };
  std::sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return key(a) < key(b); });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const NodeId node = order[i];
    const std::uint32_t level = facts.node_level[node.index()];
    const double barrier = moved[level] + facts.options.barrier_time;
    const double start = timeline.nodes[node.index()].start;
    if (facts.before(start, barrier)) {
      facts.violations.add([&] {
        return fmt::format("{} started at {}, before the barrier at {}", facts.name(node), start,
                           barrier);
      });
    }
    if (!facts.options.work_conserving) continue;
    const bool first = i == 0 || group(order[i - 1]) != group(node);
    const double free = first ? barrier : timeline.nodes[order[i - 1].index()].end;
    if (facts.before(free, start)) {
      facts.violations.add([&] {
        return fmt::format("{} started at {} though its device was free from {}", facts.name(node),
                           start, free);
      });
    }
    if (!first && timeline.choice != Choice::kRandom && rank(node) < rank(order[i - 1])) {
      facts.violations.add([&] {
        return fmt::format("{} ran after {}, which is worse", facts.name(node),
                           facts.name(order[i - 1]));
      });
    }
  }
}

}  // namespace doppler::schedule
