// Real runs, or what stands for them: noisy samples, each of which costs something. Not thread
// safe.
#pragma once

#include <cstdint>

#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

namespace doppler::schedule {

class Measurer {
 public:
  virtual ~Measurer() = default;
  // One run. `run` is its number: where noise is made up, equal numbers give equal noise. Throws
  // what the engine throws. REQUIRES: the placement passes check_placement.
  virtual Timeline measure(const Placement& placement, std::uint64_t run) = 0;
};

}  // namespace doppler::schedule
