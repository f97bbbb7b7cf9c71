// What something takes on average: sums of it then come out right, which sums of medians do not
// where it is at times much slower.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace doppler {

// Without the tenth of the values at either end, and without at least one of three or more.
// REQUIRES: there is one.
inline double trimmed_mean(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto cut = static_cast<std::ptrdiff_t>(values.size() < 3 ? 0 : (values.size() + 9) / 10);
  return std::accumulate(values.begin() + cut, values.end() - cut, 0.0) /
         static_cast<double>(static_cast<std::ptrdiff_t>(values.size()) - 2 * cut);
}

}  // namespace doppler
