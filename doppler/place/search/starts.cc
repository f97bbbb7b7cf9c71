#include "doppler/place/search/starts.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/place/search/scorer.h"
#include "doppler/schedule/bounds.h"

namespace doppler::place {

bool Starts::add(const Placer& placer, const PlaceRequest& request) {
  try {
    PlaceResult result = placer.place(problem_, request);
    evaluations_ += std::max<std::uint64_t>(result.evaluations, 1);
    placements_.push_back(std::move(result.placement));
    return result.proved_optimal;
  } catch (const InfeasibleError& error) {
    if (refusal_.empty()) refusal_ = error.what();
    return false;
  }
}

bool Starts::used_up() const {
  // The search spends this many on ranking its starts before it can stop.
  const bool nominal = request_.objective == schedule::Objective::kNominal;
  const std::uint64_t ranking =
      placements_.size() * static_cast<std::uint64_t>(nominal ? 1 : Scorer::kValidationSamples);
  return request_.stop.stop_requested() ||
         (request_.max_evaluations > 0 && evaluations_ + ranking >= request_.max_evaluations);
}

void Starts::add_all(std::span<const std::shared_ptr<const Placer>> placers) {
  PlaceRequest untimed = request_;
  untimed.stop = request_.stop.without_deadline();
  for (const auto& placer : placers) {
    if (!placements_.empty() && used_up()) break;
    add(*placer, untimed);
  }
}

PlaceResult Starts::search(AnnealingOptions options) const {
  if (placements_.empty()) throw InfeasibleError(refusal_);
  options.evaluations_before = evaluations_;
  AnnealingResult found =
      anneal(problem_, request_, schedule::best_bound(problem_), placements_, options);
  return {.placement = std::move(found.placement),
          .evaluations = found.evaluations,
          .note = found.met_bound ? "stopped at the bound" : ""};
}

PriorityRules::PriorityRules(std::size_t nodes) {
  DOPPLER_CHECK(nodes >= 1 && nodes <= kMostRuleNodes);
  all_ = nodes == kMostRuleNodes ? ~NodeSet{0} : set_of(nodes) - 1;
}

// Solutions are closed under the maximum of two of them (node by node), so if there is one there is
// a greatest one, and giving every node the highest level that the rules leave it finds it. Levels
// are filled from the top: a level starts with all nodes that are left and loses the losers of
// rules whose winner has not been seen. A strict rule needs a winner on a higher level, any other
// rule one on this level or higher. A level that ends up empty means that the rules contradict each
// other.
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
