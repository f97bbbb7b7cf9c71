#include "doppler/place/search/priority_rules.h"

#include <bit>

#include "doppler/base/error.h"

namespace doppler::place {

PriorityRules::PriorityRules(std::size_t nodes) {
  DOPPLER_CHECK(nodes >= 1 && nodes <= kMostRuleNodes);
  all_ = nodes == kMostRuleNodes ? ~NodeSet{0} : set_of(nodes) - 1;
}

// The maximum of two solutions, node by node, is a solution too. So if there is any there is a
// greatest one, and it is found by giving every node the highest level that the rules leave it.
// Levels are filled from the top: a level starts with all nodes that are left and loses the losers
// of rules whose winner has not been seen. A strict rule needs a winner on a higher level, any
// other rule one on this level or higher. A level that ends up empty means that the rules
// contradict each other.
bool PriorityRules::solve(std::vector<double>* out) {
  if (out) out->assign(static_cast<std::size_t>(std::popcount(all_)), 0.0);
  for (const PriorityRule& rule : rules_) {
    if (rule.strict && rule.winner == 0 && rule.loser == 0) return false;  // -inf > -inf
  }
  NodeSet placed = 0;
  for (double level = 0.0; placed != all_; level -= 1.0) {
    NodeSet here = all_ & ~placed;
    for (bool changed = true; changed;) {
      changed = false;
      for (const PriorityRule& rule : rules_) {
        const NodeSet seen = rule.strict ? placed : placed | here;
        if ((rule.winner & seen) != 0 || (rule.loser & here) == 0) continue;
        here &= ~rule.loser;
        changed = true;
      }
    }
    if (here == 0) return false;
    if (out) {
      for (NodeSet rest = here; rest != 0; rest &= rest - 1) {
        (*out)[static_cast<std::size_t>(std::countr_zero(rest))] = level;
      }
    }
    placed |= here;
  }
  return true;
}

}  // namespace doppler::place
