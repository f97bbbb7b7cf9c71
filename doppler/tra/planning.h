// The optimizer: how to split each operation of a program over a number of equal devices.
//
// A plan gives every operation a number of parts per dimension. Its predicted time is the sum over
// operations of the compute of the busiest device and of what has to move: operands that more than
// one part needs, operands that are split in another way than the operation wants, and partial
// results. The implementation algebra reads off it: an operand that several parts need is
// broadcast, one that is split differently is shuffled, and everything else joins and aggregates in
// place.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "doppler/device/topology.h"
#include "doppler/tra/expression.h"
#include "doppler/tra/sharding.h"

namespace doppler::tra {

// What the cost of a plan depends on: equal devices with equal links between them.
struct Machine {
  std::int64_t devices = 1;
  double flops = 1e12;             // per second and device
  double memory_bandwidth = 1e11;  // bytes per second and device
  double link_bandwidth = 1e10;    // bytes per second that a device can send
  double launch_seconds = 5e-6;    // per kernel
};
// The slowest device and the least bandwidth between any two stand for all of them.
Machine machine_of(const device::Topology& topology);

using Parts = std::map<std::string, std::int64_t>;

// How an operand reaches an operation.
enum class Movement : std::uint8_t {
  kLocal,      // each part of the operand is needed once, where it is
  kBroadcast,  // several parts of the operation need the same block
  kShuffle,    // it is split in another way
};

struct PlannedOperation {
  Relation operation;
  Parts parts = {};  // by dimension of the operation, more than one only
  double compute_seconds = 0.0;
  std::vector<Movement> operands = {};
  bool aggregates = false;  // partial results are combined
  double moved_bytes = 0.0;
};

class Planner;

class Plan {
 public:
  std::span<const PlannedOperation> operations() const { return operations_; }
  double predicted_seconds() const { return seconds_; }
  Sharding sharding() const;

 private:
  friend class Planner;  // planning.cc
  std::vector<PlannedOperation> operations_;
  std::unordered_map<const Expression*, Parts> parts_;
  double seconds_ = 0.0;
};

// The best plan found: every way to split one operation, operation by operation until nothing
// improves, from several starts. Products have as many parts as there are devices, as far as shapes
// allow; other operations where that pays.
// Deterministic. `updates`: pairs of roots and parameters that must be split alike.
Plan plan(std::span<const Relation> roots, const Machine& machine,
          std::span<const std::pair<Relation, Relation>> updates = {});
// The prediction for parts given by name of dimension.
Plan plan_by_name(std::span<const Relation> roots, const Machine& machine, const Parts& parts);

}  // namespace doppler::tra
