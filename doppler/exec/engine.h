// An engine runs placed graphs on a wall clock, without barriers. Each device has a thread that
// computes; one more thread moves data that no device moves; if durations are given, one more keeps
// time. The devices are those of a backend (backend.h). What starts next is decided by the same
// code as on a virtual clock (dispatch_queue.h, timed_run.h).
//
// Make an engine once, load a placement, run it many times. One thread at a time may call an
// engine, except for lose().
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

// Returns a placement of a problem, for example of what is left of a run (remaining_work.h).
using Replace = std::function<schedule::Placement(const cost::Problem& remaining)>;

struct EngineOptions {
  std::string backend = std::string(kThreadsBackend);  // one of backend_names()
  schedule::Choice choice = schedule::Choice::kPriority;
  schedule::Mode mode = schedule::Mode::kWorkConserving;
  bool computes = true;         // false, for emulated machines only: there are no values at all
  bool check_finite = false;    // fails a run that has a result which is not a finite number
  BackendOptions machine = {};  // how an emulated machine behaves
  // A node that runs longer than this is taken for hung: its run fails, and so do all later ones.
  // Absent: no node is.
  std::optional<double> watchdog_seconds = std::nullopt;
  // Called after the loss of a device, on the thread that called run(): first for what is left of
  // the run, then for the whole problem without the lost devices. Makes every run copy all
  // parameters to memory outside of the devices. Absent: a run that loses a device fails.
  Replace replace = {};
};

// Thrown if a node does not end: its thread, and with it the engine, cannot be used any more. Such
// a process should end without running destructors of static objects, which the thread may still
// use.
class HungError : public RunError {
 public:
  using RunError::RunError;
};

class Engine {
 public:
  // Starts the threads. Throws InputError if values are to be computed and a node has no kernel
  // call or one that does not fit; ParameterError as make_backend() does, and if the backend can
  // only compute but is told not to; SystemError if there are no threads for so many devices;
  // std::bad_alloc if kernels would find no memory.
  Engine(std::shared_ptr<const cost::Problem> problem, EngineOptions options);
  // Waits for running nodes, except for hung ones.
  ~Engine();

  // Sets the placement of the runs to come. Inputs and parameters that the old and the new
  // placement have on the same device stay there. Throws InfeasibleError, before anything runs, if
  // memory does not suffice or a constraint is broken; RunError if a device that it uses is lost;
  // HungError after a node has hung; std::bad_alloc if the computer has no more memory, and then no
  // placement is loaded.
  void load(const schedule::Placement& placement);
  // Sets inputs and parameters, all that any node reads, and forgets the results of the last run.
  // Throws InputError for a value that is missing or has the wrong number of elements. REQUIRES: a
  // placement is loaded.
  void set(const Values& values);

  // Runs the graph once, after which parameters have their new values. `seed` decides jitter and
  // random choices. Throws RunError, naming the node, if a kernel fails, and if a device is lost
  // that is not replaced; the engine can still be used. Throws HungError if a node hangs; then it
  // cannot. REQUIRES: a placement is loaded and, if values are computed, they are set.
  //
  // If a device was lost and its work placed anew, the timeline has the last run of each node, and
  // later runs use the placement that was found for the whole problem.
  schedule::Timeline run(std::uint64_t seed = 0);

  // Returns the graph's outputs and the new parameter values of the last run. Throws RunError if
  // that run failed, if a placement or values were set since, or if a device was lost with some of
  // the results after the run.
  Values results() const;
  // Returns the greatest delay of the last run, in seconds of wall clock: by how much a node or a
  // transfer started or ended later than planned. 0 if durations are not given.
  double pacing_error() const;

  // Loses the device from now on, with everything in its memory and the results of what it runs. A
  // kernel that it runs cannot be stopped, so the run waits until that ends. Any thread may call
  // this at any time.
  void lose(DeviceId device);
  // Returns how many runs have ended, in whatever way.
  std::uint64_t ended_runs() const;
  // Does what lose() does unless more than so many runs have ended, and returns whether it did: for
  // whoever wants to lose a device in a certain run, which may end at the same moment.
  bool lose_unless_ended(DeviceId device, std::uint64_t runs);
  // Brings a lost device back, or another one in its place, with empty memory. REQUIRES: no run is
  // going on.
  void restore(DeviceId device);

 private:
  class State;
  std::shared_ptr<State> state_;  // shared with the threads, so that a hung one may outlive this
};

}  // namespace doppler::exec
