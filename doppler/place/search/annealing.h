// Annealing by several logical chains that meet at fixed numbers of evaluations.
//
// A chain runs cycles: each starts from a good placement, warm, and ends cold; each is twice as
// long as the one before. So the search needs to know neither its budget nor the speed of the
// machine: stopped at any meeting, it has lately finished a cycle of a good part of the time spent.
// Chains share nothing between meetings, so a seed and a number of evaluations mean one result on
// any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "doppler/place/placer.h"
#include "doppler/place/search/neighborhood.h"
#include "doppler/schedule/bounds.h"
#include "doppler/schedule/placement.h"

namespace doppler::place {

// How to anneal.
struct AnnealingOptions {
  Neighborhood::Style style = Neighborhood::Style::kGuided;
  int chains = 8;
  // Evaluations already spent by whoever made the starts; they count towards the request's limit.
  std::uint64_t evaluations_before = 0;
};

struct AnnealingResult {
  schedule::Placement placement;
  // Of the objective; where that is a mean, over more runs than the search looked at.
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

}  // namespace doppler::place
