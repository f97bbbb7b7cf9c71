// Placements that a search starts from: the answers of quick methods.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "doppler/place/placer.h"
#include "doppler/place/search/annealing.h"

namespace doppler::place {

class Starts {
 public:
  // `problem` and `request` must outlive it.
  Starts(const cost::Problem& problem, const PlaceRequest& request)
      : problem_(problem), request_(request) {}

  // Adds what the method finds under `request`; true where it proved that nothing is better. A
  // method that finds no room adds nothing: another one may still find some.
  bool add(const Placer& placer, const PlaceRequest& request);
  // Adds what each method finds, the cheapest first, until the request is used up; at least one,
  // where any finds room. The clock is looked at between methods only, and each counts as an
  // evaluation at least, so that the number of evaluations in the end tells where a timed run broke
  // off.
  void add_all(std::span<const std::shared_ptr<const Placer>> placers);

  const schedule::Placement& first() const { return placements_.front(); }
  std::uint64_t evaluations() const { return evaluations_; }

  // Searches from all of them. Throws InfeasibleError where there is none.
  PlaceResult search(AnnealingOptions options) const;

 private:
  bool used_up() const;

  const cost::Problem& problem_;
  const PlaceRequest& request_;
  std::vector<schedule::Placement> placements_;
  std::uint64_t evaluations_ = 0;
  std::string refusal_;  // of the first method that found no room
};

// Which priorities lead to a given run? Every choice that the run made says that one node or
// transfer beat another; this finds priorities that agree with all of them, or that there are none.
//
// A node's priority is its own and a transfer's the highest among its consumers, so each rule
// compares the maxima of two sets of nodes. Up to 64 nodes, as bit sets. Not thread safe.

using NodeSet = std::uint64_t;
inline constexpr std::size_t kMostRuleNodes = 64;
inline NodeSet set_of(std::size_t node) {
  return NodeSet{1} << node;
}

// max over `winner` > max over `loser`, or >= where the winner is also first when they are equal.
// The maximum over no nodes is minus infinity.
struct PriorityRule {
  NodeSet winner;
  NodeSet loser;
  bool strict;
};

class PriorityRules {
 public:
  explicit PriorityRules(std::size_t nodes);

  void add(PriorityRule rule) { rules_.push_back(rule); }
  // For undoing: the rules after the first `size` are forgotten.
  std::size_t size() const { return rules_.size(); }
  void shrink(std::size_t size) { rules_.resize(size); }

  // True where some priorities obey all rules.
  bool consistent() { return solve(nullptr); }
  // Such priorities. REQUIRES: consistent().
  void priorities(std::vector<double>& out) { solve(&out); }

 private:
  bool solve(std::vector<double>* out);

  NodeSet all_;
  std::vector<PriorityRule> rules_;
};

}  // namespace doppler::place
