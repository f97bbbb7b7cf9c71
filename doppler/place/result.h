// What one method gave on one problem, with everything that is printed beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "doppler/schedule/bounds.h"
#include "doppler/schedule/figures.h"
#include "doppler/schedule/placement.h"

namespace doppler::place {

struct Result {
  std::string method;
  std::uint64_t seed = 0;
  schedule::Objective objective = schedule::Objective::kNominal;

  schedule::Placement placement = {};
  schedule::Figures figures = {};
  schedule::Bound bound = {};
  // nominal / bound - 1; 0 where the bound is met, infinite where the bound is 0 and the result
  // not.
  double gap = 0.0;
  bool optimal = false;  // the bound is met, or the method proved it

  double seconds = 0.0;           // the method's own time, without the figures
  std::uint64_t evaluations = 0;  // simulated runs of the method; replays the result as a budget
  bool timed = false;             // a clock, not a count of evaluations, ended the search
  bool interrupted = false;       // the caller asked to stop; this is the best until then
  std::string note = {};          // the method's own remark
  std::string warning = {};       // what makes the placement doubtful

  // Where the objective is another: the best nominal makespan that a short search of the same
  // method found, to say what the objective costs nominally.
  std::optional<double> nominal_reference = std::nullopt;
};

}  // namespace doppler::place
