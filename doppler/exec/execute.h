// Costs measured by running a placed graph: collects what each node and each transfer took.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doppler/base/stop.h"
#include "doppler/cost/measured_costs.h"
#include "doppler/cost/problem.h"
#include "doppler/exec/engine.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

namespace doppler::exec {

// Not thread safe.
class Profile {
 public:
  // `problem` must outlive this.
  explicit Profile(const cost::Problem& problem);

  // One run more. Throws ParameterError where that is more than memory is kept for. REQUIRES: its
  // times are seconds.
  void add(const schedule::Timeline& timeline);

  // Means over all runs so far, without the longest and shortest tenth, by node and kind of device
  // and by tensor and pair of devices. Times have nine digits, beyond which no clock goes: so nodes
  // that take equally long on a virtual clock do here, too. The paths of the graph and the devices
  // are left to the caller.
  cost::MeasuredCosts costs() const;

 private:
  using Samples = std::vector<double>;
  struct Route {
    TensorId tensor;
    DeviceId from, to;
    friend auto operator<=>(const Route&, const Route&) = default;
  };

  const cost::Problem& problem_;
  int runs_ = 0;
  std::size_t samples_ = 0;
  std::vector<Samples> nodes_;  // by node, then column of the problem's table
  std::map<Route, Samples> transfers_;
};

// Runs a placed graph on an engine several times and sums up, the simulator's prediction beside it.

enum class EngineClock : std::uint8_t { kWall, kVirtual };

// A device that fails some time after the start of a run.
struct DeviceLoss {
  std::string device;
  double seconds = 0.0;  // of the engine's time: stretched on an emulated machine
};

struct ExecuteSettings {
  std::string backend = std::string(exec::kThreadsBackend);
  EngineClock clock = EngineClock::kWall;  // kVirtual: emulated only, nothing is computed
  schedule::Choice choice = schedule::Choice::kPriority;
  schedule::Mode mode = schedule::Mode::kWorkConserving;
  int runs = 1;
  int warmup = 0;        // runs before these, not counted
  bool computes = true;  // emulated, wall clock: real values besides
  bool check = false;    // compares the first run's results with the serial runner's
  bool check_finite = false;
  bool profile = false;              // measures costs
  exec::MachineSkew deviation = {};  // emulated: from the problem's costs
  // Emulated, wall clock: seconds for a unit of the problem's time. Absent: so that half of the
  // nodes take at least kLeastMedianSeconds.
  std::optional<double> time_scale = std::nullopt;
  std::optional<double> watchdog_seconds = std::nullopt;
  // Wall clock: devices that are lost during the first counted run, and who places what is left
  // (absent: the run fails).
  std::vector<DeviceLoss> losses = {};
  exec::Replace replace = {};
  std::uint64_t seed = 1;  // of values, random choice and jitter
  StopToken stop = {};     // asked between runs; one run that counts always takes place
};

// Below this sleeping is too imprecise: it ends some tens of microseconds late.
inline constexpr double kLeastMedianSeconds = 5e-3;
// But no node is stretched to more than this.
inline constexpr double kMostNodeSeconds = 60.0;

struct ExecuteResult {
  int runs = 0;  // fewer than asked for where interrupted
  // Without the run that lost devices, unless it is the only one.
  double min = 0.0, median = 0.0, max = 0.0;
  // Difference of the medians of the odd and the even runs, as a share of the median; absent below
  // four runs.
  std::optional<double> noise = std::nullopt;
  // By the simulator, with the problem's costs; after a loss for the placement that later runs use.
  double predicted = 0.0;
  double time_scale = 1.0;  // of an emulated machine on the wall clock
  std::optional<double> pacing_error_seconds = std::nullopt;  // greatest of all runs, of wall clock
  std::optional<std::size_t> checked = std::nullopt;          // results that were compared
  std::optional<std::string> different = std::nullopt;  // a tensor that is not what it should be
  std::vector<DeviceLoss> lost = {};                    // before the first counted run had ended
  // Of the first counted run.
  schedule::Timeline timeline;
  std::vector<double> utilisation;        // by device
  std::vector<double> peak_memory_bytes;  // by device
  double bytes_moved = 0.0;
  // Over all counted runs without losses, where asked for; without the paths of the graph and the
  // devices.
  std::optional<cost::MeasuredCosts> costs = std::nullopt;
};

// Values for all inputs and parameters whose shape is known: small numbers, so that deep programs
// stay finite; indices where a table is read.
exec::Values random_values(const graph::Graph& graph, std::uint64_t seed);

// See ExecuteSettings::time_scale.
double default_time_scale(const cost::Problem& problem, const schedule::Placement& placement);

// Inputs and parameters get random values. Throws ParameterError for settings that do not go
// together, and what the engine throws.
ExecuteResult execute(std::shared_ptr<const cost::Problem> problem,
                      const schedule::Placement& placement, const ExecuteSettings& settings);

}  // namespace doppler::exec
