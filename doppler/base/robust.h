// Statistics that a few wild values do not move: the middle of some values, and how far they lie
// from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace doppler {

// Of an even number of values, the mean of the two in the middle. REQUIRES: there is a value.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

// The mean of the middle half, and of at least one: sums of it come out nearly right where values
// are skewed, which sums of medians do not, and a quarter may be wild. REQUIRES: there is a value.
inline double middle_mean(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto cut = static_cast<std::ptrdiff_t>(values.size() < 3 ? 0 : (values.size() + 3) / 4);
  return std::accumulate(values.begin() + cut, values.end() - cut, 0.0) /
         static_cast<double>(static_cast<std::ptrdiff_t>(values.size()) - 2 * cut);
}

// The median distance from the median, scaled so that it is the standard deviation where values are
// normal (1 / 0.6745, the third quartile of a standard normal). REQUIRES: there is a value.
inline double robust_deviation(std::vector<double> values) {
  const double middle = median(values);
  for (double& value : values) value = std::abs(value - middle);
  return 1.4826 * median(std::move(values));
}

// The standard error of the median of so many normal values is that of their mean times this, in
// the limit: the square root of pi / 2.
inline constexpr double kMedianError = 1.2533;

}  // namespace doppler
