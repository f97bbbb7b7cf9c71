// A service that learns: runs placements one after the other on an engine, while a learner
// (train/online/online_learner.h) works beside it.
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

// A device that becomes slower in the middle of a service.
struct LaterSlowdown {
  std::string device;
  double factor = 1.0;    // of all times, instead of the device's factor before
  std::uint64_t run = 0;  // the first run that is slower
};

// What runs the placements of a service.
struct MachineSettings {
  std::string backend = std::string(exec::kThreadsBackend);
  exec::EngineClock clock = exec::EngineClock::kWall;
  // How an emulated machine differs from the problem's costs.
  exec::MachineSkew deviation = {};
  std::vector<LaterSlowdown> later = {};            // virtual clock only
  std::optional<double> time_scale = std::nullopt;  // see exec::ExecuteSettings
  std::uint64_t seed = 1;                           // of values and jitter
};

// Throws ParameterError for settings that do not go together or do not suit the problem.
void check_machine(const cost::Problem& problem, const MachineSettings& settings);

// Returns what runs placements of the problem. If the settings have no time scale, that of an
// emulated machine is chosen so that `typical` can be timed well. Throws as check_machine() does.
std::unique_ptr<schedule::Measurer> make_machine(std::shared_ptr<const cost::Problem> problem,
                                                 const schedule::Placement& typical,
                                                 const MachineSettings& settings);

// A run of a service that came to its end.
struct ServedRun {
  std::uint64_t number = 0;  // counted from 0
  bool exploratory = false;  // whether a candidate ran
  double time = 0.0;         // in the problem's unit
  const schedule::Placement& placement;
};

struct ServeSettings {
  std::uint64_t runs = 2000;  // in all, including those before a checkpoint
  // Whether the learner works on a thread of its own while runs go on. If not, it works between
  // runs, so that the same bits come out every time; that is for virtual clocks.
  bool beside = true;
  StopToken stop = {};
  // Is called after every run, before the learner knows of it, by the thread that runs. May be
  // empty.
  std::function<void(const ServedRun&)> served = {};
  // Is called now and then, and in the end, by the thread that works: for checkpoints. May be
  // empty.
  std::function<void()> idle = {};
};

// Serves until so many runs were reported or it is asked to stop. A candidate that fails is
// reported to the learner as such; if the incumbent fails, its InfeasibleError is thrown.
void serve(OnlineLearner& learner, schedule::Measurer& machine, const ServeSettings& settings);

}  // namespace doppler::train
