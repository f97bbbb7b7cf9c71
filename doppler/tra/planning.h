// The planner, which decides how each operation of a program is split over a number of equal
// devices.
//
// A plan gives every operation a number of parts for each dimension. How data moves follows from
// it: an operand that several parts need is broadcast, one that is split differently is shuffled,
// and everything else is joined and aggregated in place. plan_model.h predicts what a plan costs.
//
// Plans and planners are immutable once made, so threads share them freely.
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

using Parts = std::map<std::string, std::int64_t>;  // number of parts by name of dimension

struct PlannedOperation {
  Relation operation;
  Parts parts = {};  // only dimensions with more than one part
  std::vector<Movement> operands = {};
  bool aggregates = false;  // partial results are combined
  PlanCost cost = {};
};

class Plan {
 public:
  Plan(const PlanModel& model, std::span<const Choice> choices);

  std::span<const PlannedOperation> operations() const { return operations_; }
  // Returns the cost of all operations together.
  const PlanCost& cost() const { return cost_; }
  double predicted_seconds() const { return seconds_; }
  Sharding sharding() const;

 private:
  std::vector<PlannedOperation> operations_;
  std::unordered_map<const Expression*, Parts> parts_;
  PlanCost cost_;
  double seconds_ = 0.0;
};

// Returns the prime factors in rising order, with repetition; none for 1.
std::vector<std::int64_t> prime_factors(std::int64_t n);

class Planner {
 public:
  // `updates` are pairs of a root and the parameter that it replaces, which must be split alike.
  Planner(std::span<const Relation> roots, const Machine& machine,
          std::span<const std::pair<Relation, Relation>> updates = {});

  const PlanModel& model() const { return model_; }

  // Returns the best plan found by dynamic programming over the operations (in which the cost of a
  // producer is shared among its readers) and then by changing one operation at a time while that
  // helps. `starts` are plans to improve on, besides those that split only one of the main
  // dimensions. Products get at least as many parts as there are devices, as far as shapes allow;
  // other operations get up to as many if that pays. Deterministic.
  Plan best(std::span<const Parts> starts = {}) const;

  // Returns the dimensions along which products can be split, those with most work first; at most
  // kMostMainDimensions, since a program may have very many.
  static constexpr std::size_t kMostMainDimensions = 12;
  Dimensions main_dimensions() const;

  // Returns the plan with these parts; dimensions that cannot be split so finely get fewer.
  Plan by_name(const Parts& parts) const;
  // Returns the predicted cost of that plan without making it.
  PlanCost predict(const Parts& parts) const;

 private:
  PlanModel model_;
};

}  // namespace doppler::tra
