// Counts the steps of a tree search and says when to stop. Not thread safe.
#pragma once

#include <cstdint>

#include "doppler/base/stop.h"

namespace doppler::place {

class SearchBudget {
 public:
  // `max_steps` 0: only `stop` ends the search.
  SearchBudget(std::uint64_t max_steps, StopToken stop) : max_steps_(max_steps), stop_(stop) {}

  // Takes one step; false where the budget is spent, and from then on.
  bool step() {
    if (spent_) return false;
    ++steps_;
    if (max_steps_ != 0 && steps_ >= max_steps_) spent_ = true;
    // Asking for the time is dear next to a step.
    if (steps_ % 256 == 0 && stop_.stop_requested()) spent_ = true;
    return !spent_;
  }
  bool spent() const { return spent_; }
  std::uint64_t steps() const { return steps_; }

 private:
  std::uint64_t max_steps_;
  StopToken stop_;
  std::uint64_t steps_ = 0;
  bool spent_ = false;
};

}  // namespace doppler::place
