#include "doppler/analysis/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "doppler/base/units.h"
#include "doppler/schedule/critical_chain.h"
#include "doppler/schedule/memory.h"
#include "doppler/schedule/metrics.h"
#include "doppler/sim/simulator.h"

namespace doppler::analysis {
namespace {

// Simulated node runs that may be spent on single moves: a fraction of a second, at the cost of
// trying only some of the moves on large graphs.
constexpr std::uint64_t kMoveNodeRuns = 1'000'000;
constexpr std::uint64_t kFewestMoves = 4;

struct Candidate {
  std::uint32_t unit;
  DeviceId to;
};

// Every way to run one unit of the chain elsewhere.
std::vector<Candidate> moves_of(const cost::Problem& problem, const schedule::Placement& placement,
                                const schedule::CriticalChain& chain) {
  std::vector<std::uint32_t> units;
  for (const schedule::ChainStep& step : chain.steps) {
    if (step.kind == schedule::ChainStep::Kind::kCompute) {
      units.push_back(problem.unit_of(step.node));
    }
  }
  std::sort(units.begin(), units.end());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  std::vector<Candidate> moves;
  for (const std::uint32_t unit : units) {
    const NodeId first = problem.unit(unit).front();
    for (const DeviceId to : problem.allowed_devices(first)) {
      if (to != placement.device[first.index()]) moves.push_back({unit, to});
    }
  }
  return moves;
}

// Where there are more moves than may be tried, evenly spaced ones are.
void try_moves(const cost::Problem& problem, const schedule::Placement& placement,
               const std::vector<Candidate>& moves, Limits& limits) {
  const std::uint64_t allowance = std::max(kFewestMoves, kMoveNodeRuns / problem.node_count());
  limits.moves_tried = std::min<std::uint64_t>(allowance, moves.size());
  limits.all_moves_tried = limits.moves_tried == moves.size();
  sim::Simulator simulator(problem);
  schedule::MemoryMeter meter(problem);
  schedule::Placement moved = placement;
  double best = limits.makespan;
  for (std::uint64_t i = 0; i < limits.moves_tried; ++i) {
    const Candidate& move = moves[i * moves.size() / limits.moves_tried];
    const std::span<const NodeId> unit = problem.unit(move.unit);
    for (const NodeId node : unit) moved.device[node.index()] = move.to;
    const double makespan = simulator.makespan(moved, best);
    bool fits = true;
    if (makespan < best && problem.memory_can_bind()) {
      meter.measure(simulator.timeline(moved));
      fits = meter.excess_bytes() == 0.0;
    }
    if (makespan < best && fits) {
      best = makespan;
      limits.best_move = {.node = unit.front(), .to = move.to, .makespan = makespan};
    }
    for (const NodeId node : unit) moved.device[node.index()] = placement.device[node.index()];
  }
}

}  // namespace

Limits find_limits(const cost::Problem& problem, const schedule::Placement& placement) {
  const schedule::Timeline timeline = sim::Simulator(problem).timeline(placement);
  const schedule::CriticalChain chain = schedule::critical_chain(problem, timeline);
  Limits limits{.makespan = timeline.makespan};
  if (timeline.makespan > 0.0) {
    limits.compute = chain.compute / timeline.makespan;
    limits.transfer = chain.transfer / timeline.makespan;
    limits.waiting = chain.waiting() / timeline.makespan;
  }
  const schedule::Metrics metrics = schedule::measure_metrics(problem, timeline);
  limits.busiest_device = metrics.busiest_device();
  limits.busiest_device_share = metrics.devices[limits.busiest_device.index()].utilisation;
  limits.busiest_channel = metrics.busiest_channel();
  if (limits.busiest_channel.valid()) {
    limits.busiest_channel_share = metrics.channels[limits.busiest_channel.index()].utilisation;
  }
  try_moves(problem, placement, moves_of(problem, placement, chain), limits);
  return limits;
}

}  // namespace doppler::analysis
