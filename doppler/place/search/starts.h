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

}  // namespace doppler::place
