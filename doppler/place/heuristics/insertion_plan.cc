#include "doppler/place/heuristics/insertion_plan.h"

#include <algorithm>

#include "doppler/cost/problem.h"

namespace doppler::place {

using cost::kInfinity;

IdleGaps::IdleGaps() {
  blocks_.push_back({{{0.0, kInfinity}}, kInfinity});
}

double IdleGaps::earliest_start(double ready, double duration, double latest) const {
  auto block = std::partition_point(blocks_.begin(), blocks_.end(),
                                    [&](const Block& b) { return b.gaps.back().end < ready; });
  for (; block != blocks_.end(); ++block) {
    if (block->gaps.front().begin > latest) break;
    if (block->longest < duration) continue;
    for (const Gap& gap : block->gaps) {
      const double start = std::max(gap.begin, ready);
      if (start > latest) return kInfinity;
      if (start + duration <= gap.end) return start;
    }
  }
  return kInfinity;
}

void IdleGaps::take(double start, double duration) {
  if (duration <= 0.0) return;
  const double end = start + duration;
  const auto block = std::partition_point(blocks_.begin(), blocks_.end(),
                                          [&](const Block& b) { return b.gaps.back().end < end; });
  auto& gaps = block->gaps;
  const auto gap =
      std::partition_point(gaps.begin(), gaps.end(), [&](const Gap& g) { return g.end < end; });
  const Gap before{gap->begin, start}, after{end, gap->end};
  if (before.begin < before.end && after.begin < after.end) {
    *gap = after;
    gaps.insert(gap, before);
  } else if (before.begin < before.end) {
    *gap = before;
  } else if (after.begin < after.end) {
    *gap = after;
  } else {
    gaps.erase(gap);
  }
  if (gaps.empty()) {
    blocks_.erase(block);
    return;
  }
  const auto measure = [](Block& b) {
    b.longest = 0.0;
    for (const Gap& g : b.gaps) b.longest = std::max(b.longest, g.end - g.begin);
  };
  if (gaps.size() > kMostGaps) {
    Block upper{{gaps.begin() + kMostGaps / 2, gaps.end()}, 0.0};
    gaps.erase(gaps.begin() + kMostGaps / 2, gaps.end());
    measure(*block);
    measure(upper);
    blocks_.insert(block + 1, std::move(upper));
  } else {
    measure(*block);
  }
}

using cost::kInfinity;

InsertionPlan::InsertionPlan(const Destinations& destinations)
    : problem_(destinations.problem()),
      arrival_(destinations),
      gaps_(problem_.device_count()),
      end_(problem_.node_count(), 0.0),
      unit_device_(problem_.unit_count()) {
  placement_.device.resize(problem_.node_count());
  placement_.priority.resize(problem_.node_count());
}

void InsertionPlan::place(NodeId node, std::span<const double> bias) {
  const auto arrival = arrival_.at_devices(node, placement_.device, end_);
  const double* times = problem_.compute_row(node);
  DeviceId& device_of_unit = unit_device_[problem_.unit_of(node)];
  const auto candidates = device_of_unit.valid() ? std::span<const DeviceId>(&device_of_unit, 1)
                                                 : problem_.allowed_devices(node);
  const auto after_start = [&](DeviceId device) {  // what a device adds to a start there
    return times[problem_.column(device)] + (bias.empty() ? 0.0 : bias[device.index()]);
  };

  // Appending after everything planned is always possible. The best device that way bounds the
  // answer, so that a gap is searched only where it could still win, and no further than that.
  double best_value = kInfinity;
  for (const DeviceId device : candidates) {
    const double start = std::max(arrival[device.index()], gaps_[device.index()].busy_until());
    best_value = std::min(best_value, start + after_start(device));
  }
  DeviceId best;
  double best_start = 0.0;
  for (const DeviceId device : candidates) {
    const double rest = after_start(device);
    const double ready = arrival[device.index()];
    if (ready + rest > best_value || (best.valid() && ready + rest == best_value)) continue;
    // A hair more than what the bound allows, since (bound - rest) + rest may round below the
    // bound.
    const double latest = (best_value - rest) + 1e-9 * best_value;
    const double start =
        gaps_[device.index()].earliest_start(ready, times[problem_.column(device)], latest);
    const double value = start + rest;
    if (value < best_value || (value == best_value && !best.valid())) {
      best = device;
      best_start = start;
      best_value = value;
    }
  }

  const double time = times[problem_.column(best)];
  gaps_[best.index()].take(best_start, time);
  device_of_unit = best;
  placement_.device[node.index()] = best;
  placement_.priority[node.index()] = -best_start;
  end_[node.index()] = best_start + time;
  makespan_ = std::max(makespan_, end_[node.index()]);
}

}  // namespace doppler::place
