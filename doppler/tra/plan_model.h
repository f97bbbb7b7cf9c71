// The cost model of the planner: a machine of equal devices with equal links, a program as numbers,
// and the predicted cost of a way to split its operations.
//
// The predicted time of a plan is a sum over operations: of the compute of the busiest device, and
// of what has to move (operands that more than one part needs, operands that are split in another
// way than the operation wants, and partial results). Nothing overlaps in it. A model is immutable
// once made, so threads share it freely.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/device/topology.h"
#include "doppler/kernel/kernel_call.h"
#include "doppler/tra/expression.h"

namespace doppler::tra {

// The machine that a plan is for.
struct Machine {
  std::int64_t devices = 1;
  double flops = 1e12;             // per second and device
  double memory_bandwidth = 1e11;  // bytes per second and device
  double link_bandwidth = 1e10;    // bytes per second that a device can send
  double launch_seconds = 5e-6;    // per kernel
  double element_bytes = kernel::kBytesPerElement;
};

// Returns a machine with the figures of the topology's slowest device and of the slowest channel
// from its first device; defaults stand for figures that the topology lacks. `options` say which
// costs count, and the precision.
Machine machine_of(const device::Topology& topology, const cost::ProblemOptions& options = {});

// The way in which an operand reaches an operation.
enum class Movement : std::uint8_t {
  kLocal,      // each part of the operand is needed once, where it is
  kBroadcast,  // several parts of the operation need the same block
  kShuffle,    // it is split in another way
};

// The number of parts of each dimension of an operation.
using Choice = std::vector<std::int64_t>;

// The predicted cost of a plan or of a part of it.
struct PlanCost {
  double compute_seconds = 0.0;  // of the busiest device
  double moved_bytes = 0.0;      // over all links
  double nodes = 0.0;            // number of kernels

  PlanCost& operator+=(const PlanCost& other);
  double seconds(const Machine& machine) const;
};

// A program as the planner sees it.
class PlanModel {
 public:
  // An operand of an operation.
  struct Operand {
    std::size_t producer;            // the operation that makes it
    std::vector<std::size_t> here;   // by its dimension: the index in the operation's dimensions
    std::vector<std::size_t> there;  // by its dimension: the index in the producer's dimensions
    double bytes;
    bool from_source;  // it is an input, which is wherever it is used
    // For a parameter that is updated: the share of this use in delivering its new value, which is
    // 1 divided by the number of uses other than the update itself.
    double update_share = 0.0;
  };
  struct Use {
    std::size_t consumer, operand;
  };
  struct Operation {
    Relation relation;
    Dimensions dimensions = {};             // those of the operands and the result together
    std::vector<std::uint8_t> splits = {};  // by dimension: whether it can be split
    std::vector<std::size_t> result = {};   // indices of the result's dimensions
    std::vector<std::size_t> dropped = {};  // indices of the dimensions that are summed
    std::vector<Operand> operands = {};
    std::vector<Use> uses = {};
    double blocks = 1.0;  // number of keys in the program itself, before any split
    double flops = 0.0, bytes = 0.0, result_bytes = 0.0;
    bool source = false, product = false;
    std::ptrdiff_t updates = -1;  // the operation (an input) whose new value this is
  };

  PlanModel(std::span<const Relation> roots, const Machine& machine,
            std::span<const std::pair<Relation, Relation>> updates);

  const Machine& machine() const { return machine_; }
  // Returns the operations, each after those that it needs.
  std::span<const Operation> operations() const { return operations_; }

  // Returns the cost of the operation itself once its operands are in place.
  PlanCost cost(const Operation& operation, const Choice& mine) const;
  // Returns the cost of bringing an operand to its operation, split as `mine`, from its producer,
  // split as `theirs`.
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

// Returns the number of all parts: the product over dimensions.
double product(const Choice& choice);

}  // namespace doppler::tra
