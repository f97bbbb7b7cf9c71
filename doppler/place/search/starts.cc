#include "doppler/place/search/starts.h"

#include <utility>

#include "doppler/base/error.h"
#include "doppler/schedule/bounds.h"

namespace doppler::place {

bool Starts::add(const Placer& placer, const PlaceRequest& request) {
  try {
    PlaceResult result = placer.place(problem_, request);
    evaluations_ += result.evaluations;
    placements_.push_back(std::move(result.placement));
    return result.proved_optimal;
  } catch (const InfeasibleError& error) {
    if (refusal_.empty()) refusal_ = error.what();
    return false;
  }
}

void Starts::add_all(std::span<const Maker> makers) {
  for (const Maker maker : makers) {
    const bool spent = request_.stop.stop_requested() ||
                       (request_.max_evaluations > 0 && evaluations_ >= request_.max_evaluations);
    if (spent && !placements_.empty()) break;
    add(*maker(), request_);
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
