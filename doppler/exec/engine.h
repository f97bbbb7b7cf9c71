// Runs placed graphs on a wall clock: one thread per device, one for all links, no barriers.
//
// Two sorts of machine. `threads`: the devices are cores of this machine, kernels and copies are
// real. `emulated`: any topology; kernels and copies take as long as a Pace says, by sleeping, and
// may compute real values besides. The same core decides in both, and in virtual_run.h.
//
// Make an engine once, load a placement, run many times. One thread at a time may call it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "doppler/cost/problem.h"
#include "doppler/exec/pace.h"
#include "doppler/graph/serial_runner.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

namespace doppler::exec {

enum class Machine : std::uint8_t { kThreads, kEmulated };

struct EngineOptions {
  Machine machine = Machine::kThreads;
  schedule::Choice choice = schedule::Choice::kPriority;
  schedule::Mode mode = schedule::Mode::kWorkConserving;
  bool computes = true;       // values; without it (emulated only) nothing is stored either
  bool check_finite = false;  // a result that is not a number fails the run, naming the node
  Deviation deviation = {};   // emulated: from the problem's costs
  double time_scale = 1.0;    // emulated: stretches time; results are reported unscaled
  // A node that runs longer than this is taken for hung: the run fails, and so do all others after
  // it. Absent: never.
  std::optional<double> watchdog_seconds = std::nullopt;
};

using Values = graph::TensorValues<float>;

class Engine {
 public:
  // Starts the threads. Throws InputError where a node has no kernel call and values are asked for,
  // or calls do not fit; ParameterError for options out of range, and for kThreads on devices that
  // are no CPUs.
  Engine(std::shared_ptr<const cost::Problem> problem, EngineOptions options);
  ~Engine();  // waits for running nodes, except for hung ones

  // The placement of the runs to come. Parameters and inputs that lie on a device under both stay
  // where they are. Throws InfeasibleError, before anything runs, where memory does not suffice.
  void load(const schedule::Placement& placement);
  // Values of inputs and parameters, all that any node reads. REQUIRES: a placement is loaded.
  void set(const Values& values);

  // One run: parameters have their new values afterwards. Throws InfeasibleError, with the node's
  // name, where a kernel fails; the engine can go on. REQUIRES: a placement is loaded and, where
  // values are computed, set.
  schedule::Timeline run(std::uint64_t seed = 0);

  // Of the last run: outputs of the graph and new values of parameters.
  Values results() const;
  // Greatest over the nodes and transfers of the last run: by how much it took longer than paced,
  // in seconds of wall clock. 0 for kThreads.
  double pacing_error() const;

 private:
  class State;
  std::shared_ptr<State> state_;  // shared with the threads, so that a hung one may outlive this
};

}  // namespace doppler::exec
