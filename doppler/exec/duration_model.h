// How long nodes and transfers take on an emulated machine: the problem's costs, or others.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/exec/transfer_plan.h"

namespace doppler::exec {

// How a machine differs from the cost tables that the placer saw. All factors are of time: 2 is
// twice as slow.
struct MachineSkew {
  std::map<std::string, double> op_factors = {};      // by op kind
  std::map<std::string, double> device_factors = {};  // by device name: stragglers
  std::map<std::string, double> link_factors = {};    // "gpu0>gpu1": transfers from, to
  // What every other transfer that is under way when one starts adds to its time, as a share: the
  // cost tables know nothing of such a shared bottleneck.
  double contention = 0.0;
  double jitter = 0.0;  // sigma of a log-normal factor on everything, drawn anew in each run

  friend bool operator==(const MachineSkew&, const MachineSkew&) = default;
};

// Immutable.
class DurationModel {
 public:
  // Throws ParameterError where the deviation names something that is not there or has a factor
  // that is not positive. The problem must outlive this.
  explicit DurationModel(const cost::Problem& problem, const MachineSkew& deviation = {});

  // In the problem's unit. `run` distinguishes runs: jitter is drawn from the seed, the run and
  // what it is drawn for, never from the order of events.
  double node_time(NodeId node, DeviceId device, std::uint64_t run) const;
  double transfer_time(const Transfer& transfer, std::uint32_t others, std::uint64_t run) const;

 private:
  double jitter_factor(std::uint64_t run, std::uint64_t what) const;

  const cost::Problem* problem_;
  std::vector<double> op_factor_;      // by op kind
  std::vector<double> device_factor_;  // by device
  std::vector<double> link_factor_;    // by pair of devices; empty where all are 1
  double contention_ = 0.0, jitter_ = 0.0;
};

// How the threads of an engine wait: without sleeping where that is over sooner than waking up.

using Clock = std::chrono::steady_clock;

// No longer than thirty years, which a clock can still count.
inline Clock::duration seconds(double count) {
  constexpr double kLongest = 1e9;
  count = std::clamp(count, -kLongest, kLongest);
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}
inline double to_seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// From now on sleeps of this thread end when asked for, not up to 50 us later as is Linux' default.
void make_timers_precise();

// Returns when the bell is no longer as it was heard, or after about a millisecond.
void watch(const std::atomic<std::uint32_t>& bell, std::uint32_t heard);

// For a lock that is held for a fraction of a microsecond at a time.
void lock_soon(std::unique_lock<std::mutex>& lock);

}  // namespace doppler::exec
