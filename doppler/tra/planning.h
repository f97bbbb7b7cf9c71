// The optimizer: how to split each operation of a program over a number of equal devices.
//
// A plan gives every operation a number of parts per dimension. The implementation algebra reads
// off it: an operand that several parts need is broadcast, one that is split differently is
// shuffled, and everything else joins and aggregates in place. What a plan costs: plan_model.h.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "doppler/tra/expression.h"
#include "doppler/tra/lowering.h"
#include "doppler/tra/plan_model.h"

namespace doppler::tra {

using Parts = std::map<std::string, std::int64_t>;

struct PlannedOperation {
  Relation operation;
  Parts parts = {};  // by dimension of the operation, more than one only
  std::vector<Movement> operands = {};
  bool aggregates = false;  // partial results are combined
  PlanCost cost = {};
};

class Plan {
 public:
  Plan(const PlanModel& model, std::span<const Choice> choices);

  std::span<const PlannedOperation> operations() const { return operations_; }
  // Of all operations together.
  const PlanCost& cost() const { return cost_; }
  double predicted_seconds() const { return seconds_; }
  Sharding sharding() const;

 private:
  std::vector<PlannedOperation> operations_;
  std::unordered_map<const Expression*, Parts> parts_;
  PlanCost cost_;
  double seconds_ = 0.0;
};

// With repetition, in rising order; none for 1.
std::vector<std::int64_t> prime_factors(std::int64_t n);

class Planner {
 public:
  // `updates`: pairs of roots and parameters, which must be split alike.
  Planner(std::span<const Relation> roots, const Machine& machine,
          std::span<const std::pair<Relation, Relation>> updates = {});

  const PlanModel& model() const { return model_; }

  // The best plan found by dynamic programming over the operations, each producer's cost shared
  // among those that read it, and then by changing one operation at a time while that helps.
  // `starts`: plans by name of dimension to improve on, besides those that split one of the main
  // dimensions only. Products have at least as many parts as there are devices, as far as shapes
  // allow; other operations up to so many, where that pays. Deterministic.
  Plan best(std::span<const Parts> starts = {}) const;

  // The dimensions along which products can be split, those that most work has first. A program may
  // have very many names: no more than kMostMainDimensions.
  static constexpr std::size_t kMostMainDimensions = 12;
  Dimensions main_dimensions() const;

  // The plan for parts given by name of dimension. What cannot be split so is cut down.
  Plan by_name(const Parts& parts) const;
  // What it is predicted to cost, without making it.
  PlanCost predict(const Parts& parts) const;

 private:
  PlanModel model_;
};

}  // namespace doppler::tra
