#include "doppler/place/heuristics/idle_gaps.h"

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

}  // namespace doppler::place
