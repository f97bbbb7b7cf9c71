// Our engine as one of the runtimes that are compared.
#pragma once

#include <memory>

#include "bench/rivals/runtime.h"
#include "doppler/exec/engine.h"

namespace doppler::bench {

class EngineRuntime final : public Runtime {
 public:
  EngineRuntime(std::shared_ptr<const cost::Problem> problem, const schedule::Placement& placement,
                const exec::Values& values)
      : engine_(std::move(problem), {}) {
    engine_.load(placement);
    engine_.set(values);
  }

  std::string_view name() const override { return "doppler"; }
  void run() override { timeline_ = engine_.run(); }

  exec::Values results() const { return engine_.results(); }
  const schedule::Timeline& timeline() const { return timeline_; }  // of the last run

 private:
  exec::Engine engine_;
  schedule::Timeline timeline_;
};

}  // namespace doppler::bench
