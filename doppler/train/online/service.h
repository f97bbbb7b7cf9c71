// A service that learns: it runs placements one after the other on a machine while a learner works
// beside it (train/online/online_learner.h).
#pragma once

#include <cstdint>
#include <functional>

#include "doppler/base/stop.h"
#include "doppler/schedule/measurer.h"
#include "doppler/schedule/placement.h"
#include "doppler/train/online/online_learner.h"

namespace doppler::train {

struct ServedRun {
  std::uint64_t number = 0;  // counted from 0
  bool exploratory = false;  // whether a candidate ran
  double time = 0.0;         // in the problem's unit
  const schedule::Placement& placement;
};

struct ServeSettings {
  std::uint64_t runs = 2000;  // in all, including those before a checkpoint
  // If set, the learner works on a thread of its own while runs go on. If not, it works between
  // runs, so that the same bits come out every time; that is for virtual clocks.
  bool beside = true;
  StopToken stop = {};
  // If set, this function is called after every run, before the learner knows of it, by the thread
  // that runs.
  std::function<void(const ServedRun&)> served = {};
  // If set, this function is called now and then, and in the end, by the thread that works: for
  // checkpoints.
  std::function<void()> idle = {};
};

// Serves until so many runs were reported or it is asked to stop. A candidate that fails is
// reported to the learner as such; if the incumbent fails, its InfeasibleError or RunError is
// thrown. Throws HungError if either hangs, since the machine can then run nothing more.
void serve(OnlineLearner& learner, schedule::Measurer& machine, const ServeSettings& settings);

}  // namespace doppler::train
