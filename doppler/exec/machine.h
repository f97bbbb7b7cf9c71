// The machine that runs placements: this computer's cores, or an emulated machine on a wall clock
// or a virtual one. MachineSettings describes it, and make_machine() builds it for what measures
// placements (analysis/fidelity.h, train/online/service.h). execute.h takes these settings too, but
// sets its engine up itself, since that can do more, such as lose devices.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/exec/backend.h"
#include "doppler/exec/device_memory.h"
#include "doppler/exec/dispatch_queue.h"
#include "doppler/exec/duration_model.h"
#include "doppler/exec/timed_run.h"
#include "doppler/schedule/measurer.h"
#include "doppler/schedule/placement.h"

namespace doppler::exec {

// kWall: runs take real time. kVirtual: the clock jumps from event to event and nothing is
// computed; only emulated machines have such a clock.
enum class EngineClock : std::uint8_t { kWall, kVirtual };

// A device that slows down while the machine is in use.
struct LaterSlowdown {
  std::string device;     // its name in the topology
  double factor = 1.0;    // multiplies the problem's times and replaces the factor in the skew
  std::uint64_t run = 0;  // number of the first run that is slow
};

struct MachineSettings {
  std::string backend = std::string(kThreadsBackend);  // one of backend_names()
  EngineClock clock = EngineClock::kWall;
  MachineSkew skew = {};                  // of an emulated machine against the problem's costs
  std::vector<LaterSlowdown> later = {};  // virtual clock only
  // Seconds of wall clock for one unit of the problem's time, for an emulated machine on the wall
  // clock. Absent: default_time_scale().
  std::optional<double> time_scale = std::nullopt;
  std::uint64_t seed = 1;  // of the values of inputs and parameters, and of jitter
};

// Throws ParameterError if no device of the problem has this name.
void check_device(const cost::Problem& problem, const std::string& name);
// Throws ParameterError for settings that contradict one another, name devices that the problem
// does not have, or have factors that are not above 0, and InputError if real cores cannot run one
// of the nodes. The name of the backend is checked when the machine is made.
void check_machine(const cost::Problem& problem, const MachineSettings& settings);
// Checks the same for a machine whose times are compared with the problem's costs. Throws
// ParameterError, too, where real cores, which take seconds, have costs in another unit.
void check_measuring_machine(const cost::Problem& problem, const MachineSettings& settings);

// Half of the nodes take at least this long by default_time_scale(): below it sleeping, which ends
// some tens of microseconds late, is too imprecise.
inline constexpr double kLeastMedianSeconds = 5e-3;
// default_time_scale() stretches no node to more than this, even if fewer than half of the nodes
// then reach kLeastMedianSeconds.
inline constexpr double kMostNodeSeconds = 60.0;

// Returns seconds of wall clock for one unit of the problem's time, so that half of the nodes of
// the placement take at least kLeastMedianSeconds. Never runs faster than real time.
double default_time_scale(const cost::Problem& problem, const schedule::Placement& placement);

// Returns the time scale of the machine that the settings describe: 1 unless it is emulated on the
// wall clock. If the settings have no time scale, it follows from `typical`, a placement that the
// machine will run.
double machine_time_scale(const cost::Problem& problem, const schedule::Placement& typical,
                          const MachineSettings& settings);

// Returns values for all inputs and parameters whose shape is known: small random numbers, so that
// deep programs stay finite, and valid rows where a tensor indexes a table. The state of an
// optimiser starts at zero, as optimisers define it: that is each parameter on which new values of
// parameters depend and no other result.
Values random_values(const graph::Graph& graph, std::uint64_t seed);

// An emulated machine on a virtual clock. Keeps the last few placements prepared, so that those
// that take turns are not prepared anew each time. Not thread safe.
class VirtualMachine final : public schedule::Measurer {
 public:
  // Jitter is drawn from the seed and the number of the run. Throws ParameterError as DurationModel
  // does.
  VirtualMachine(std::shared_ptr<const cost::Problem> problem, const MachineSkew& skew,
                 std::uint64_t seed);
  // Makes such a machine from the skew, the later slowdowns and the seed of the settings; their
  // backend, clock and time scale are ignored. Throws as above. REQUIRES: the settings pass
  // check_machine().
  VirtualMachine(std::shared_ptr<const cost::Problem> problem, const MachineSettings& settings,
                 DispatchQueue::Rules rules = {});

  // Throws what PreparedPlacement does, and ParameterError for a later slowdown as DurationModel
  // does.
  schedule::Timeline measure(const schedule::Placement& placement, std::uint64_t run) override;

 private:
  void set_skew_of(std::uint64_t run);
  PreparedPlacement& prepare(const schedule::Placement& placement);

  std::shared_ptr<const cost::Problem> problem_;
  MachineSkew skew_;     // without later slowdowns
  MachineSkew current_;  // with those that have begun
  std::vector<LaterSlowdown> later_;
  DurationModel durations_;  // with the current skew
  std::uint64_t seed_;
  DispatchQueue::Rules rules_;
  std::deque<std::unique_ptr<PreparedPlacement>> prepared_;  // the most recently used one first
};

// Returns a machine whose times are in the problem's unit. For an emulated machine on the wall
// clock, `typical` may decide the time scale (machine_time_scale()); other machines ignore it, so
// that it may be empty. Real cores compute with random_values(); emulated machines compute nothing.
// Throws as check_measuring_machine() and make_backend() do.
std::unique_ptr<schedule::Measurer> make_machine(std::shared_ptr<const cost::Problem> problem,
                                                 const schedule::Placement& typical,
                                                 const MachineSettings& settings);

}  // namespace doppler::exec
