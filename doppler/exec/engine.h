// Runs placed graphs on a wall clock, without barriers: one thread per device computes, one moves
// data where no device does and, where durations are given, one keeps time.
//
// The devices are those of a backend (backend.h); what starts next is decided by the same core as
// on a virtual clock (core.h, timed_run.h).
//
// Make an engine once, load a placement, run many times. One thread at a time may call it, except
// for lose().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "doppler/base/error.h"
#include "doppler/cost/problem.h"
#include "doppler/exec/backend.h"
#include "doppler/exec/device_memory.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

namespace doppler::exec {

// Places a problem, for example what is left of a run (rest.h).
using Replace = std::function<schedule::Placement(const cost::Problem& rest)>;

struct EngineOptions {
  std::string backend = std::string(kThreadsBackend);  // one of backend_names()
  schedule::Choice choice = schedule::Choice::kPriority;
  schedule::Mode mode = schedule::Mode::kWorkConserving;
  bool computes = true;         // values; without it (emulated only) nothing is stored either
  bool check_finite = false;    // a result that is not a number fails the run, naming the node
  BackendOptions machine = {};  // how an emulated machine behaves
  // A node that runs longer than this is taken for hung: the run fails, and so do all others after
  // it. Absent: never.
  std::optional<double> watchdog_seconds = std::nullopt;
  // Called by the thread that called run() where a device is lost, for what is left of the run and
  // then for the whole problem without the lost devices. Costs a copy of all parameters outside of
  // the devices after every run. Absent: a run that loses a device fails.
  Replace replace = {};
};

// A node does not end: its thread, and with it the engine, cannot be used any more. A process ends
// cleanly only without destructors of static objects, which the thread may still need.
class HungError : public InfeasibleError {
 public:
  using InfeasibleError::InfeasibleError;
};

class Engine {
 public:
  // Starts the threads. Throws InputError where a node has no kernel call and values are asked for,
  // or calls do not fit; ParameterError as make_backend does and where the backend needs values
  // that are not to be computed; std::bad_alloc where kernels would find no memory.
  Engine(std::shared_ptr<const cost::Problem> problem, EngineOptions options);
  ~Engine();  // waits for running nodes, except for hung ones

  // The placement of the runs to come. Parameters and inputs that lie on a device under both stay
  // where they are. Throws InfeasibleError, before anything runs, where memory does not suffice or
  // a device that it uses is lost; std::bad_alloc where the machine has no more, and then no
  // placement is loaded.
  void load(const schedule::Placement& placement);
  // Values of inputs and parameters, all that any node reads; results of the last run are gone.
  // REQUIRES: a placement is loaded.
  void set(const Values& values);

  // One run: parameters have their new values afterwards. Throws InfeasibleError, with the node's
  // name, where a kernel fails; the engine can go on. REQUIRES: a placement is loaded and, where
  // values are computed, set.
  //
  // Where a device was lost and replaced, the timeline has the last run of each node, and later
  // runs use the placement found for the whole.
  schedule::Timeline run(std::uint64_t seed = 0);

  // Of the last run: outputs of the graph and new values of parameters. Throws InfeasibleError
  // where it failed or a placement was loaded since, and where a device was lost with some of them
  // after the run.
  Values results() const;
  // Greatest over the nodes and transfers of the last run: by how much one started or ended later
  // than planned, in seconds of wall clock. 0 where nothing is paced.
  double pacing_error() const;

  // The device is gone from now on, with all that lies in its memory; what runs there comes to
  // nothing. A kernel that it runs cannot be stopped, so the run waits until that ends. Any thread
  // may call this at any time.
  void lose(DeviceId device);
  // A lost device, or one as good, is there again, its memory empty. REQUIRES: no run is going on.
  void restore(DeviceId device);

 private:
  class State;
  std::shared_ptr<State> state_;  // shared with the threads, so that a hung one may outlive this
};

}  // namespace doppler::exec
