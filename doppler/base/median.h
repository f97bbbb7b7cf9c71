// Medians, and how far they can be trusted.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "doppler/base/robust.h"

namespace doppler {

// What two measurements of the same thing differ by: the medians of the odd and of the even ones,
// as a share of the median of all. REQUIRES: two values or more.
inline double noise_of(const std::vector<double>& values) {
  std::vector<double> halves[2];
  for (std::size_t i = 0; i < values.size(); ++i) halves[i % 2].push_back(values[i]);
  const double difference = std::abs(median(std::move(halves[0])) - median(std::move(halves[1])));
  return difference == 0.0 ? 0.0 : difference / median(values);
}

}  // namespace doppler
