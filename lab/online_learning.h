// Stage III, learning from an engine, as the experiments ask for it. Whoever can do that gives a
// function of this kind; without one its results are absent, and the pages say so.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/exec/duration_model.h"
#include "doppler/policy/policy.h"
#include "doppler/schedule/placement.h"

namespace doppler::lab {

struct OnlineRequest {
  std::shared_ptr<const cost::Problem> problem;  // with the costs that the placer believes in
  exec::Deviation truth;      // of the emulated engine from these: what there is to learn
  policy::Policy policy;      // to begin with
  schedule::Placement first;  // of the first run
  std::uint64_t runs = 0;     // of the engine, on its virtual clock
  std::uint64_t seed = 1;
  const std::atomic<bool>* interrupt = nullptr;  // ends it early; what is there is thrown away
};

// The placement that served after so many runs.
struct OnlinePoint {
  std::uint64_t runs = 0;
  schedule::Placement placement;
};

// In the order of runs; the last one is the result. Deterministic for a seed; one thread; called
// from several threads at once.
using OnlineLearning = std::function<std::vector<OnlinePoint>(const OnlineRequest&)>;

}  // namespace doppler::lab
