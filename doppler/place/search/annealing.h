// Annealing by several logical chains that meet at fixed numbers of evaluations, and the collection
// of the placements that it starts from.
//
// A chain runs cycles: each starts from a good placement, warm, and ends cold; each is twice as
// long as the one before. So the search needs to know neither its budget nor the speed of the
// machine: stopped at any meeting, it has lately finished a cycle of a good part of the time spent.
// Chains share nothing between meetings, so a seed and a number of evaluations mean one result on
// any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "doppler/place/registry.h"
#include "doppler/place/search/neighborhood.h"
#include "doppler/schedule/bounds.h"
#include "doppler/schedule/placement.h"

namespace doppler::place {

// Holds the options of anneal().
struct AnnealingOptions {
  Neighborhood::Style style = Neighborhood::Style::kGuided;
  int chains = 8;
  // Evaluations already spent by whoever made the starts; they count towards the request's limit.
  std::uint64_t evaluations_before = 0;
};

struct AnnealingResult {
  schedule::Placement placement;
  // The value of the objective, in the problem's time unit. Where the objective is a mean, it is
  // taken over Scorer::kValidationSamples runs, more than the search looks at.
  double value = 0.0;
  std::uint64_t evaluations = 0;  // including AnnealingOptions::evaluations_before
  bool met_bound = false;         // so that no placement is better
};

// Returns the best placement found from `starts`, never worse than the best of them. Ends when the
// request's evaluations or time are used up, when it is asked to stop, or when the nominal
// objective meets `bound`. REQUIRES: starts is not empty and every one passes check_placement and
// fits in memory.
AnnealingResult anneal(const cost::Problem& problem, const PlaceRequest& request,
                       const schedule::Bound& bound, const std::vector<schedule::Placement>& starts,
                       const AnnealingOptions& options = {});

// The placements that a search starts from: the answers of quick methods. Collects them and
// searches from them. Not thread safe.
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

  // Anneals from all placements. Where there is none, because no method that was asked found one
  // that fits, it first looks for any that does: asks the other quick methods, then repairs random
  // placements, each by moves that lessen the bytes above capacity, while the budget lasts. Throws
  // InfeasibleError where that finds nothing, or where it is proved that nothing fits.
  PlaceResult search(AnnealingOptions options);

 private:
  void find_any();
  bool used_up() const;

  const cost::Problem& problem_;
  const PlaceRequest& request_;
  std::vector<schedule::Placement> placements_;
  std::uint64_t evaluations_ = 0;
  std::string refusal_;  // why the first of the methods that found nothing did not
};

}  // namespace doppler::place
