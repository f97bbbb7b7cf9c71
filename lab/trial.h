// What experiments have in common: a placement by a method, a policy by a training, a time on an
// engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/exec/duration_model.h"
#include "doppler/policy/policy.h"
#include "doppler/schedule/placement.h"
#include "doppler/train/offline/training.h"
#include "lab/lab.h"

namespace doppler::lab {

inline constexpr const char* kDopplerSim = "doppler-sim";
inline constexpr const char* kDopplerSys = "doppler-sys";

// Names of numbers in cells: the placement's time by the simulator, and on an engine.
inline constexpr const char* kSimulated = "simulated";
inline constexpr const char* kEngine = "engine";

// Placements that are sampled of a trained policy, of which the best counts.
inline constexpr std::size_t kBestOfSamples = 64;

// Seconds of CPU that the calling thread has used: what others do on the machine counts little.
double thread_seconds();

// A method by the name in the registry, or one of the two above, as the scale trains them.
schedule::Placement place_by(const Lab& lab, const std::shared_ptr<const cost::Problem>& problem,
                             const std::string& method, std::uint64_t seed);

struct Trained {
  policy::Policy policy = {};
  schedule::Placement placement =
      {};                 // the best that was seen, in training or among 64 samples after
  double makespan = 0.0;  // of it
  double seconds = 0.0;   // of CPU, in training
};

// Stages I and II as the scale has them.
train::TrainingPlan plan_of(const Scale& scale, std::uint64_t seed);
// The same after a transfer: fewer episodes, gentler, nothing imitated.
train::TrainingPlan finetuning_of(const Scale& scale, std::uint64_t seed);

// Trains on one problem to the end. `watch` is called before the first update and after each.
Trained train_on(const Lab& lab, const std::shared_ptr<const cost::Problem>& problem,
                 const train::TrainingPlan& plan, std::vector<float> start = {},
                 const std::function<void(const train::Training&)>& watch = {});

// The best of samples of a policy.
schedule::Placement place_with(const Lab& lab, const cost::Problem& problem,
                               std::shared_ptr<const policy::Policy> policy, std::size_t samples,
                               std::uint64_t seed);

// Simulated with the problem's costs.
double simulated(const cost::Problem& problem, const schedule::Placement& placement);

// A machine that is not as the placer thinks (lab/hidden_machine.h).
exec::Deviation hidden_truth(const cost::Problem& problem, std::uint64_t seed);
// Median of runs of the emulated engine on a virtual clock.
double engine_time(const Lab& lab, const std::shared_ptr<const cost::Problem>& problem,
                   const schedule::Placement& placement, const exec::Deviation& truth,
                   std::uint64_t seed);

// Of the bytes that nodes read from each other, the share that stays on a device.
double kept_share(const graph::Graph& graph, const schedule::Placement& placement);

}  // namespace doppler::lab
