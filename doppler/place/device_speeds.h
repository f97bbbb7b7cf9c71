// How the devices compare, for methods that balance work before placing it.
#pragma once

#include <vector>

#include "doppler/place/mean_costs.h"

namespace doppler::place {

// Each device's share of the total speed, by device; they add up to 1. The speed is the time that
// the nodes which may run there take on average over their devices, divided by the time that they
// take there, so that long nodes count more. Zero where nothing may run.
std::vector<double> speed_shares(const cost::Problem& problem, const MeanCosts& mean);

}  // namespace doppler::place
