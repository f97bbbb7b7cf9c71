// The median of a list.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace doppler::study {

// Of an even number of values, the mean of the two in the middle. REQUIRES: there is a value.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

}  // namespace doppler::study
