// Explains why a run took as long as it did, by one chain of nodes and transfers, each of which
// began when the one before it ended, from time 0 to the makespan.
//
// The chain is found backwards from what ended last. A node began when the last of its inputs was
// there or when its device became free; a transfer when its tensor was complete or when a channel
// became free. Whatever ended last of these, at that very moment, is the step before. Where several
// did, data comes before resources: the chain then says more about the graph.
//
// Each step is there for one of these reasons, and the reasons share out the makespan:
//   data     the next step needs its result. Compute and transfer on data are the time that only
//            another assignment, faster devices or faster links can shorten.
//   queue    the next step had (or could have had) its data but waited for this step to give up its
//            device or channel. Such steps count as waiting, in full: less work on that resource,
//            or another order, shortens them.
//   barrier  (synchronous runs) the next step waited for this one at a barrier; waiting too.
//   idle     nothing the next step needs was under way: the cost of a barrier or, in measured runs,
//            the engine's own overhead and waits for memory.
//
// A chain dominated by `data` is bound by the graph's dependencies, one dominated by `queue` by the
// capacity of its devices or channels.
#pragma once

#include <cstdint>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/timeline.h"

namespace doppler::schedule {

// One step of the chain.
struct ChainStep {
  enum class Kind : std::uint8_t { kCompute, kTransfer, kIdle };
  enum class Reason : std::uint8_t { kData, kQueue, kBarrier, kIdle };

  Kind kind = Kind::kIdle;
  Reason reason = Reason::kIdle;  // kData for the last node or transfer of all
  NodeId node = {};               // kCompute: what ran
  std::uint32_t transfer = 0;     // kTransfer: index into Timeline::transfers
  double begin = 0.0;
  double end = 0.0;
};

// The critical chain of a run. Times are in the problem's unit; the five parts add up to the
// makespan (up to rounding).
struct CriticalChain {
  std::vector<ChainStep> steps;  // by time: the first begins at 0, each begins where the last ended
  double compute = 0.0;          // nodes whose result the next step needs
  double transfer = 0.0;         // transfers whose data the next step needs
  double device_queue = 0.0;     // nodes that held a device (or a barrier) that others waited for
  double channel_queue = 0.0;    // transfers that held a channel (or a barrier)
  double idle = 0.0;

  double waiting() const { return device_queue + channel_queue + idle; }
};

// Returns the critical chain of a run, for both link modes and for simulated (also synchronous or
// jittered) and measured runs. REQUIRES: the checker accepts the timeline.
CriticalChain critical_chain(const cost::Problem& problem, const Timeline& timeline);

}  // namespace doppler::schedule
