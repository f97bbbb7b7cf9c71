// Timeline records what happened in one run of a placed graph: when each node ran and when each
// transfer moved. The simulator and the engine both emit it, so that one checker and one report
// serve both.
#pragma once

#include <cstdint>
#include <vector>

#include "doppler/base/id.h"

namespace doppler::schedule {

enum class Mode : std::uint8_t {
  kWorkConserving,
  kSynchronous,  // level by level, with barriers
};

// Selects which of several ready nodes (or waiting transfers) goes first.
enum class Choice : std::uint8_t { kPriority, kFifo, kRandom };

// Records when a node ran.
struct NodeRun {
  double start = 0.0;
  double end = 0.0;
};

// Records when a tensor moved. With channel links there is one transfer per (tensor, destination),
// and `consumer` is invalid. With free links there is one per (tensor, consumer) on different
// devices; `consumer` is invalid only for the delivery of an updated parameter. `start` is when the
// data began to move.
struct TransferRun {
  TensorId tensor;
  NodeId consumer;
  DeviceId from;
  DeviceId to;
  double start = 0.0;
  double end = 0.0;
};

// A whole run. Times are in the problem's unit and count from the start of the run.
struct Timeline {
  Mode mode = Mode::kWorkConserving;
  Choice choice = Choice::kPriority;
  double makespan = 0.0;
  std::vector<DeviceId> device;        // by node
  std::vector<double> priority;        // by node
  std::vector<NodeRun> nodes;          // by node
  std::vector<TransferRun> transfers;  // in the order in which they started
};

}  // namespace doppler::schedule
