// Which priorities lead to a given run? Every choice that the run made says that one node or
// transfer beat another; this finds priorities that agree with all of them, or that there are none.
//
// A node's priority is its own and a transfer's the highest among its consumers, so each rule
// compares the maxima of two sets of nodes. Up to 64 nodes, as bit sets. Not thread safe.
#pragma once

#include <cstdint>
#include <vector>

namespace doppler::place {

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
