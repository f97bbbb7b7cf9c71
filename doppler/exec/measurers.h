// Measurers that run placements on an engine, or on an emulated machine with a virtual clock.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "doppler/cost/problem.h"
#include "doppler/exec/duration_model.h"
#include "doppler/exec/engine.h"
#include "doppler/exec/session.h"
#include "doppler/schedule/measurer.h"

namespace doppler::exec {

// An emulated machine on a virtual clock, which may change while it serves.
class VirtualMachine final : public schedule::Measurer {
 public:
  // Noise is drawn from the seed and the number of the run. Throws ParameterError as Pace does.
  VirtualMachine(std::shared_ptr<const cost::Problem> problem, const Deviation& deviation,
                 std::uint64_t seed);
  ~VirtualMachine() override;

  // From the next run on.
  void change(const Deviation& deviation);
  schedule::Timeline measure(const schedule::Placement& placement, std::uint64_t run) override;

 private:
  struct Loaded;
  Loaded& load(const schedule::Placement& placement);

  std::shared_ptr<const cost::Problem> problem_;
  Pace pace_;
  std::uint64_t seed_;
  std::deque<std::unique_ptr<Loaded>> loaded_;  // the last few, the latest first
};

// An engine, whose values are set once.
class EngineMeasurer final : public schedule::Measurer {
 public:
  // `values` of all inputs and parameters; empty where nothing is computed. `seed`: of jitter.
  EngineMeasurer(std::shared_ptr<const cost::Problem> problem, EngineOptions options, Values values,
                 std::uint64_t seed);
  // A placement that is loaded already is not loaded again.
  schedule::Timeline measure(const schedule::Placement& placement, std::uint64_t run) override;

 private:
  Engine engine_;
  Values values_;
  std::uint64_t seed_;
  bool has_values_ = false;
  schedule::Placement loaded_;
};

}  // namespace doppler::exec
