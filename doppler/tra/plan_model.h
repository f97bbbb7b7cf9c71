// What the cost of a plan depends on: equal devices with equal links between them.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "doppler/device/topology.h"
#include "doppler/tra/expression.h"

namespace doppler::tra {

struct Machine {
  std::int64_t devices = 1;
  double flops = 1e12;             // per second and device
  double memory_bandwidth = 1e11;  // bytes per second and device
  double link_bandwidth = 1e10;    // bytes per second that a device can send
  double launch_seconds = 5e-6;    // per kernel
};

// The slowest device and the slowest link of the first one stand for all of them.
Machine machine_of(const device::Topology& topology);

// A program as the optimizer sees it: its operations in numbers, and what a way to split them
// costs.
//
// The predicted time of a plan is a sum over operations of the compute of the busiest device and of
// what has to move: operands that more than one part needs, operands that are split in another way
// than the operation wants, and partial results. Nothing overlaps in it.

// How an operand reaches an operation.
enum class Movement : std::uint8_t {
  kLocal,      // each part of the operand is needed once, where it is
  kBroadcast,  // several parts of the operation need the same block
  kShuffle,    // it is split in another way
};

// In how many parts an operation is split, by its dimensions.
using Choice = std::vector<std::int64_t>;

struct PlanCost {
  double compute_seconds = 0.0;  // of the busiest device
  double moved_bytes = 0.0;      // over all links
  double nodes = 0.0;            // kernels that it takes

  PlanCost& operator+=(const PlanCost& other);
  double seconds(const Machine& machine) const;
};

class PlanModel {
 public:
  // An operand as its operation sees it: which operation makes it, under which names.
  struct Operand {
    std::size_t producer;
    std::vector<std::size_t> here;   // index of each dimension in the operation's
    std::vector<std::size_t> there;  // in the producer's
    double bytes;
    bool from_source;  // inputs are wherever they are used
    // Of a parameter that is updated: this use's share in delivering its new value, 1 / uses other
    // than the update itself.
    double update_share = 0.0;
  };
  struct Use {
    std::size_t consumer, operand;
  };
  struct Operation {
    Relation relation;
    Dimensions dimensions = {};             // of operands and result together
    std::vector<std::uint8_t> splits = {};  // by dimension: whether it can be split
    std::vector<std::size_t> result = {};   // indices of the result's
    std::vector<std::size_t> dropped = {};  // of those that are summed
    std::vector<Operand> operands = {};
    std::vector<Use> uses = {};
    double blocks = 1.0;  // keys that the program itself gives it: parts before any split
    double flops = 0.0, bytes = 0.0, result_bytes = 0.0;
    bool source = false, product = false;
    std::ptrdiff_t updates = -1;  // the operation (an input) whose new value this is
  };

  PlanModel(std::span<const Relation> roots, const Machine& machine,
            std::span<const std::pair<Relation, Relation>> updates);

  const Machine& machine() const { return machine_; }
  // Each after those that it needs.
  std::span<const Operation> operations() const { return operations_; }

  // Of the operation itself, its operands in place.
  PlanCost cost(const Operation& operation, const Choice& mine) const;
  // Of bringing an operand to it.
  PlanCost cost(const Operand& operand, const Choice& mine, const Choice& theirs) const;
  Movement movement(const Operand& operand, const Choice& mine, const Choice& theirs) const;

 private:
  void add(const Relation& relation);
  Operand trace(const Relation& operand) const;
  double copies(const Operand& operand, const Choice& mine) const;

  Machine machine_;
  std::vector<Operation> operations_;
  std::unordered_map<const Expression*, std::size_t> index_;
};

// Parts in all: the product over dimensions.
double product(const Choice& choice);

}  // namespace doppler::tra
