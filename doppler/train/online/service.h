// A service that learns: runs placements one after the other on a machine while a learner works
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
  std::uint64_t number = 0;
  bool exploratory = false;
  double time = 0.0;
  const schedule::Placement& placement;
};

struct ServeSettings {
  std::uint64_t runs = 2000;  // in all, with those before a checkpoint
  // The learner works on a thread of its own while runs go on. Else between runs, so that the same
  // bits come out every time: for virtual clocks.
  bool beside = true;
  StopToken stop = {};
  // After every run, before the learner knows of it, by the thread that runs.
  std::function<void(const ServedRun&)> served = {};
  // Now and then by the thread that works, and in the end: for checkpoints.
  std::function<void()> idle = {};
};

// Until that many runs were reported or it is asked to stop. A candidate that fails is reported as
// such; a failure of the incumbent is thrown.
void serve(train::OnlineLearner& learner, schedule::Measurer& machine,
           const ServeSettings& settings);

}  // namespace doppler::train
