// Finds the priorities that lead to a given run. Every choice that the run made says that one node
// or transfer went before another; the rules collect these, and tell whether any priorities agree
// with all of them.
//
// A node's priority is its own and a transfer's the highest among its consumers, so each rule
// compares the maxima of two sets of nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace doppler::place {

// A set of nodes, a bit each.
using NodeSet = std::uint64_t;
inline constexpr std::size_t kMostRuleNodes = 64;
inline NodeSet set_of(std::size_t node) {
  return NodeSet{1} << node;
}

// Demands that the highest priority in `winner` is above the highest in `loser` or, where the rule
// is not strict, at least as high. The highest priority of no nodes is minus infinity.
struct PriorityRule {
  NodeSet winner;
  NodeSet loser;
  bool strict;  // false where the winner goes first even when both are equal
};

// A list of rules that grows and shrinks with the choices of a search. Not thread safe.
class PriorityRules {
 public:
  explicit PriorityRules(std::size_t nodes);

  void add(PriorityRule rule) { rules_.push_back(rule); }
  std::size_t size() const { return rules_.size(); }
  // Drops the rules after the first `size`, which undoes additions.
  void shrink(std::size_t size) { rules_.resize(size); }

  // Returns whether any priorities obey all rules.
  bool consistent() { return solve(nullptr); }
  // Sets `out` to priorities that obey all rules, by node. REQUIRES: consistent().
  void priorities(std::vector<double>& out) { solve(&out); }

 private:
  bool solve(std::vector<double>* out);

  NodeSet all_;
  std::vector<PriorityRule> rules_;
};

}  // namespace doppler::place
