// Runs a placed graph several times on a machine and sums up what was measured, costs among it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "doppler/base/stop.h"
#include "doppler/cost/measured_costs.h"
#include "doppler/cost/problem.h"
#include "doppler/exec/engine.h"
#include "doppler/exec/machine.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

namespace doppler::exec {

// Costs measured by running a placed graph: collects what each node and each transfer took. Not
// thread safe.
class Profile {
 public:
  // Samples are eight bytes each, so that by default a profile takes at most 400 MB.
  static constexpr std::size_t kMostSamples = 50'000'000;

  // `problem` must outlive the profile.
  explicit Profile(const cost::Problem& problem, std::size_t most_samples = kMostSamples);

  // Adds a run. Throws ParameterError if there would be more samples than the most.
  // REQUIRES: the timeline's times are seconds.
  void add(const schedule::Timeline& timeline);

  // Returns the mean times of all runs so far, without the longest and shortest tenth: of nodes by
  // kind of device, of transfers by tensor and pair of devices. Times are rounded to nine digits,
  // beyond which no clock is exact, so that nodes that take equally long on a virtual clock have
  // equal costs. The caller fills in the paths of the graph and the devices.
  cost::MeasuredCosts costs() const;

 private:
  using Samples = std::vector<double>;  // seconds
  struct Route {
    TensorId tensor;
    DeviceId from, to;
    friend auto operator<=>(const Route&, const Route&) = default;
  };

  const cost::Problem& problem_;
  std::size_t most_samples_;
  int runs_ = 0;
  std::size_t samples_ = 0;     // in all
  std::vector<Samples> nodes_;  // by node, then by column of the problem's table
  std::map<Route, Samples> transfers_;
};

// A device that fails some time after the start of a run.
struct DeviceLoss {
  std::string device;    // its name in the topology
  double seconds = 0.0;  // in the engine's time, which an emulated machine stretches
};

// Holds the settings of runs of the graph, in addition to those of the machine. The machine's seed
// also decides random choices.
struct ExecuteSettings : MachineSettings {
  schedule::Choice choice = schedule::Choice::kPriority;
  schedule::Mode mode = schedule::Mode::kWorkConserving;
  int runs = 1;               // that count
  int warmup = 0;             // runs before these, which do not count
  bool computes = true;       // whether an emulated machine on the wall clock also computes values
  bool check = false;         // compares the results of every run with the serial runner's
  bool check_finite = false;  // fails a run that has a result which is not a finite number
  bool profile = false;       // measures costs
  // A node that runs longer than this is taken for hung. Absent: none is.
  std::optional<double> watchdog_seconds = std::nullopt;
  // Wall clock only: devices that are lost during the first counted run, and the function that
  // places what is left then. Without the function that run fails.
  std::vector<DeviceLoss> losses = {};
  Replace replace = {};
  // Asked between runs, and while the serial runner computes. One run that counts always takes
  // place.
  StopToken stop = {};
};

// A result of a run that does not equal the serial runner's.
struct ResultDifference {
  std::string tensor;
  int run = 0;           // counted from 1, warm-up runs included
  bool has_nan = false;  // NaN equals nothing, so that a result which has one is never right
};

// Times are in the problem's unit on an emulated machine, in seconds on real cores.
struct ExecuteResult {
  int runs = 0;  // that counted; fewer than asked for if interrupted
  bool interrupted = false;
  // Makespans of the counted runs. A run that lost devices is left out unless it is the only one.
  double min = 0.0, median = 0.0, max = 0.0;
  // Difference between the medians of the odd and of the even runs, as a share of the median of
  // all; absent below four runs.
  std::optional<double> noise = std::nullopt;
  // The placement of the last run that lost no device: the one that was asked for or, if runs
  // followed a loss, the one that was found for the devices that are left.
  schedule::Placement placement;
  double time_scale = 1.0;  // seconds of wall clock for a unit of time (machine_time_scale())
  // Emulated machine on the wall clock: the greatest Engine::pacing_error() of all runs.
  std::optional<double> pacing_error_seconds = std::nullopt;
  std::optional<std::size_t> checked = std::nullopt;  // how many results of each run were compared
  std::optional<ResultDifference> different = std::nullopt;  // the first one that was found
  std::vector<DeviceLoss> lost = {};  // those that happened before the first counted run ended
  // About the first counted run. Utilisation and peak memory are by device.
  schedule::Timeline timeline;
  std::vector<double> utilisation;
  std::vector<double> peak_memory_bytes;
  double bytes_moved = 0.0;
  // Costs measured over all counted runs without losses, if asked for; without the paths of the
  // graph and the devices.
  std::optional<cost::MeasuredCosts> costs = std::nullopt;
};

// Throws ParameterError for settings that do not go together or that the problem cannot be run
// with, so that nobody waits for a placement first. execute() does the same.
void check_execution(const cost::Problem& problem, const ExecuteSettings& settings);

// Gives inputs and parameters random values and runs the graph. Throws ParameterError for settings
// that do not go together, what Engine throws for a placement or a run that fails, and RunError if
// it is stopped before the results of a counted run were compared. Wrong results do not throw: see
// ExecuteResult::different.
ExecuteResult execute(std::shared_ptr<const cost::Problem> problem,
                      const schedule::Placement& placement, const ExecuteSettings& settings);

}  // namespace doppler::exec
