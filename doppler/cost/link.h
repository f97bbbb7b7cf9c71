// What moving bytes from one device to another takes, and how measurements change that.
#pragma once

#include <span>

namespace doppler::cost {

// A transfer takes latency + bytes / bandwidth.
struct Link {
  double latency_seconds;
  double bandwidth;  // bytes/s: the smallest on the route; 0 where it is unknown

  friend bool operator==(const Link&, const Link&) = default;
};

// A transfer that was measured.
struct Move {
  double bytes;
  double seconds;
};

// The latency and bandwidth, neither negative, that come closest to the moves: the least sum of
// squared relative errors. A move that took far longer than others of its size hardly counts, since
// no prediction is further below it than the whole of it. Where sizes are within a factor of two
// they say nothing of both figures: then the latency of `nominal` is kept, unless it alone is
// longer than what was measured, which scales both. `nominal` itself where no move took any time.
// REQUIRES: no move is negative; nominal.bandwidth > 0.
Link fit_link(const Link& nominal, std::span<const Move> moves);

}  // namespace doppler::cost
