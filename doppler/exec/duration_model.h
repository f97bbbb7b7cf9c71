// Tells how long nodes and transfers take on an emulated machine: as long as the problem's costs
// say, or as long as on a machine that differs from them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/exec/transfer_plan.h"

namespace doppler::exec {

// Describes how a machine differs from the cost tables that the placer saw. All factors multiply
// times: 2 is twice as slow.
struct MachineSkew {
  std::map<std::string, double> op_factors = {};      // by op kind
  std::map<std::string, double> device_factors = {};  // by device name: stragglers
  std::map<std::string, double> link_factors = {};    // "gpu0>gpu1": transfers from gpu0 to gpu1
  // A transfer takes this share of its time longer for every other one that is under way when it
  // starts. The cost tables know nothing of such a shared bottleneck.
  double contention = 0.0;
  double jitter = 0.0;  // sigma of a log-normal factor on every time, drawn anew in each run

  friend bool operator==(const MachineSkew&, const MachineSkew&) = default;
};

// The durations of a problem's nodes and transfers on a machine with a skew. Immutable.
class DurationModel {
 public:
  // Throws ParameterError if the skew names a device that is not there or has a factor, a
  // contention or a jitter that is out of range. The problem must outlive this.
  explicit DurationModel(const cost::Problem& problem, const MachineSkew& skew = {});

  // Return times in the problem's unit. `others` is the number of other transfers that are under
  // way. `run` is the seed of jitter, which depends on it and on the node or transfer, never on the
  // order of events.
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

}  // namespace doppler::exec
