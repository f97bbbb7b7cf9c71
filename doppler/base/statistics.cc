#include "doppler/base/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace doppler {
namespace {

// The mean of sorted values without the `cut` lowest and highest.
double mean_without(const std::vector<double>& sorted, std::size_t cut) {
  const auto skipped = static_cast<std::ptrdiff_t>(cut);
  return std::accumulate(sorted.begin() + skipped, sorted.end() - skipped, 0.0) /
         static_cast<double>(sorted.size() - 2 * cut);
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

double middle_mean(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return mean_without(values, values.size() < 3 ? 0 : (values.size() + 3) / 4);
}

double trimmed_mean(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return mean_without(values, values.size() < 3 ? 0 : (values.size() + 9) / 10);
}

double geometric_mean(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

double robust_deviation(std::vector<double> values) {
  const double middle = median(values);
  for (double& value : values) value = std::abs(value - middle);
  return 1.4826 * median(std::move(values));
}

double noise_of(const std::vector<double>& values) {
  std::vector<double> halves[2];
  for (std::size_t i = 0; i < values.size(); ++i) halves[i % 2].push_back(values[i]);
  const double difference = std::abs(median(std::move(halves[0])) - median(std::move(halves[1])));
  return difference == 0.0 ? 0.0 : difference / median(values);
}

}  // namespace doppler
