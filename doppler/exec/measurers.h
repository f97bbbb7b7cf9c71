// A placement made ready to run: all that is worked out once and used by every run of it. Holds
// references into itself, so it stays where it was made.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/exec/admission.h"
#include "doppler/exec/backend.h"
#include "doppler/exec/dispatch_queue.h"
#include "doppler/exec/duration_model.h"
#include "doppler/exec/engine.h"
#include "doppler/exec/remaining_work.h"
#include "doppler/exec/transfer_plan.h"
#include "doppler/schedule/measurer.h"
#include "doppler/schedule/placement.h"

namespace doppler::exec {

struct Session {
  // Of what is left of a problem, or of all of it: RemainingWork{problem}. Throws ParameterError or
  // InfeasibleError for a placement that is not one of this problem, breaks a constraint or does
  // not fit into memory.
  Session(RemainingWork rest, schedule::Placement given, std::shared_ptr<const Backend> on,
          DispatchQueue::Rules rules);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Ids in the whole graph.
  NodeId whole(NodeId node) const { return nodes.empty() ? node : nodes[node.index()]; }
  TensorId whole(TensorId tensor) const {
    return tensors.empty() ? tensor : tensors[tensor.index()];
  }

  const std::shared_ptr<const cost::Problem> problem;
  const schedule::Placement placement;
  const std::shared_ptr<const Backend> backend;
  const std::vector<NodeId> nodes;      // empty: the session is of the whole
  const std::vector<TensorId> tensors;  // likewise
  const TransferPlan wiring;
  const StartOrder order;
  DispatchQueue core;
};

// Measurers that run placements on an engine, or on an emulated machine with a virtual clock.

// An emulated machine on a virtual clock, which may change while it serves.
class VirtualMachine final : public schedule::Measurer {
 public:
  // Noise is drawn from the seed and the number of the run. Throws ParameterError as DurationModel
  // does.
  VirtualMachine(std::shared_ptr<const cost::Problem> problem, const MachineSkew& deviation,
                 std::uint64_t seed);
  ~VirtualMachine() override;

  // From the next run on.
  void change(const MachineSkew& deviation);
  schedule::Timeline measure(const schedule::Placement& placement, std::uint64_t run) override;

 private:
  struct Loaded;
  Loaded& load(const schedule::Placement& placement);

  std::shared_ptr<const cost::Problem> problem_;
  DurationModel pace_;
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
