// From ratios to verdicts on claims.
#pragma once

#include <string>
#include <vector>

#include "lab/experiment.h"

namespace doppler::lab {

struct GraphRatio {
  std::string graph;
  Estimate ratio;
};

// "0.97 chainmm, 1.02 ffnn".
std::string ratios_text(const std::vector<GraphRatio>& ratios);

// A claim that ratios are below 1. Confirmed where that is so on every graph by the whole interval,
// not confirmed where it is on none, partly in between; open where there is nothing.
Finding less_is_better(std::string claim, std::string published,
                       const std::vector<GraphRatio>& ratios);
// That they are above.
Finding more_is_better(std::string claim, std::string published,
                       const std::vector<GraphRatio>& ratios);

}  // namespace doppler::lab
