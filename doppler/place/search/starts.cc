#include "doppler/place/search/starts.h"

#include <algorithm>
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

}  // namespace doppler::place
