// Learned baselines as placement methods: each trains its model from nothing on the problem itself,
// within the budget of the request, and gives the best placement it has seen on the way.
#pragma once

#include <memory>
#include <vector>

#include "doppler/place/placer.h"

namespace doppler::train {

// "placeto" and "gdp". Thread safe. `request.stop` is looked at between updates, each of 16
// episodes.
std::vector<std::shared_ptr<const place::Placer>> make_scratch_placers();

}  // namespace doppler::train
