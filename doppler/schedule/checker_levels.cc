// The rules of synchronous runs. Level by level: transfers, barrier, nodes, barrier; after the last
// level only deliveries of updates may follow.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "doppler/schedule/checker_facts.h"

namespace doppler::schedule {

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
