// What placers ask of a simulator. Not thread safe: make one per thread with an EvaluatorFactory.
#pragma once

#include <functional>
#include <memory>

#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

namespace doppler::schedule {

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // The nominal makespan, or infinity as soon as it is known to be `cutoff` or more. Does not
  // allocate after the first call. REQUIRES: the placement passes check_placement.
  virtual double makespan(const Placement& placement, double cutoff) = 0;
  virtual Timeline timeline(const Placement& placement) = 0;
};

using EvaluatorFactory = std::function<std::unique_ptr<Evaluator>(const cost::Problem&)>;

}  // namespace doppler::schedule
