// A service that learns: runs placements one after the other on an engine while a learner works
// beside it (train/online/online_learner.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "doppler/base/stop.h"
#include "doppler/cost/problem.h"
#include "doppler/exec/execute.h"
#include "doppler/exec/measurers.h"
#include "doppler/schedule/measurer.h"
#include "doppler/schedule/placement.h"
#include "doppler/train/online/online_learner.h"

namespace doppler::train {

// A device that slows down in the middle of service.
struct LaterSlowdown {
  std::string device;
  double factor = 1.0;    // of time, instead of what it was
  std::uint64_t run = 0;  // from this one on
};

struct MachineSettings {
  std::string backend = std::string(exec::kThreadsBackend);
  exec::EngineClock clock = exec::EngineClock::kWall;
  exec::MachineSkew deviation = {};                 // emulated: from the problem's costs
  std::vector<LaterSlowdown> later = {};            // virtual clock
  std::optional<double> time_scale = std::nullopt;  // see ExecuteSettings
  std::uint64_t seed = 1;                           // of values and jitter
};

// What runs placements of the problem. `typical` decides how far time is stretched where that is
// not said. Throws ParameterError for settings that do not go together.
std::unique_ptr<schedule::Measurer> make_machine(std::shared_ptr<const cost::Problem> problem,
                                                 const schedule::Placement& typical,
                                                 const MachineSettings& settings);

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
