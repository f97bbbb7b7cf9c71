// What every placement method implements. Adding one is a file plus a line in registry.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/base/stop.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/metrics.h"
#include "doppler/schedule/placement.h"

namespace doppler::place {

struct Progress {
  double seconds = 0.0;
  std::uint64_t evaluations = 0;
  double best = 0.0;  // value of the objective
  double bound = 0.0;
};

struct PlaceRequest {
  std::uint64_t seed = 1;
  schedule::Objective objective = schedule::Objective::kNominal;
  // Searches stop after this many simulated runs; 0 means that only `stop` ends them. The same
  // number and seed give the same bits on any number of threads.
  std::uint64_t max_evaluations = 0;
  // Polled at points where the best so far can be kept. One-pass methods may ignore it.
  StopToken stop = {};
  int threads = 1;
  // Called now and then from the calling thread, where set.
  std::function<void(const Progress&)> progress = {};
};

struct PlaceResult {
  schedule::Placement placement;
  std::uint64_t evaluations = 0;  // simulated runs; max_evaluations that replays this result
  bool proved_optimal = false;    // by a method (exact); meeting a bound is judged elsewhere
  std::string prover = {};        // which method, where not this one
  std::string note;               // anything a person should know: "best of 50", "stopped early"
  std::string warning = {};       // what makes the result doubtful
};

class Placer {
 public:
  virtual ~Placer() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;  // one line for --help and tables
  // Searches use the budget (evaluations or time); one-pass methods do not.
  virtual bool uses_budget() const { return false; }
  // A placement that obeys all constraints and, where memory binds, fits; throws InfeasibleError
  // that says what does not fit where none was found. Thread safe.
  virtual PlaceResult place(const cost::Problem& problem, const PlaceRequest& request) const = 0;
};

}  // namespace doppler::place
