// The placements that a search starts from: the answers of quick methods.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "doppler/place/placer.h"
#include "doppler/place/search/annealing.h"

namespace doppler::place {

// Collects starts and searches from them. Not thread safe.
class Starts {
 public:
  // `problem` and `request` must outlive this object.
  Starts(const cost::Problem& problem, const PlaceRequest& request)
      : problem_(problem), request_(request) {}

  // Adds what the method finds under `request`. Returns true where the method proved that nothing
  // is better. A method that finds no placement that fits adds nothing: another one may still find
  // one.
  bool add(const Placer& placer, const PlaceRequest& request);
  // Adds what each method finds, in the given order, until the budget of the constructor's request
  // is used up; at least one placement, where any method finds one that fits. The clock is read
  // only between methods, and each method counts as at least one evaluation, so that the final
  // number of evaluations tells where a timed run broke off.
  void add_all(std::span<const std::shared_ptr<const Placer>> placers);

  const schedule::Placement& first() const { return placements_.front(); }
  std::uint64_t evaluations() const { return evaluations_; }

  // Anneals from all placements. Throws InfeasibleError where there is none.
  PlaceResult search(AnnealingOptions options) const;

 private:
  bool used_up() const;

  const cost::Problem& problem_;
  const PlaceRequest& request_;
  std::vector<schedule::Placement> placements_;
  std::uint64_t evaluations_ = 0;
  std::string refusal_;  // why the first of the methods that found nothing did not
};

}  // namespace doppler::place
