#include "doppler/base/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "doppler/base/error.h"

namespace doppler {

namespace {

// Returns the mean of sorted values without the `cut` lowest and the `cut` highest.
double mean_without(const std::vector<double>& sorted, std::size_t cut) {
  const auto skipped = static_cast<std::ptrdiff_t>(cut);
  return std::accumulate(sorted.begin() + skipped, sorted.end() - skipped, 0.0) /
         static_cast<double>(sorted.size() - 2 * cut);
}

// Returns the ranks minus their mean, so that they add up to 0.
std::vector<double> centred_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return values[i] < values[j]; });
  std::vector<double> ranks(values.size());
  const double mean = 0.5 * (static_cast<double>(values.size()) - 1.0);
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    const double shared = 0.5 * static_cast<double>(first + last - 1);
    for (std::size_t i = first; i < last; ++i) ranks[order[i]] = shared - mean;
  }
  return ranks;
}

int sign(double value) {
  return (value > 0.0) - (value < 0.0);
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

std::optional<double> spearman(std::span<const double> a, std::span<const double> b) {
  DOPPLER_CHECK(a.size() == b.size());
  const std::vector<double> x = centred_ranks(a), y = centred_ranks(b);
  const double xx = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
  const double yy = std::inner_product(y.begin(), y.end(), y.begin(), 0.0);
  if (xx == 0.0 || yy == 0.0) return std::nullopt;
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0) / std::sqrt(xx * yy);
}

std::optional<double> kendall_tau_b(std::span<const double> a, std::span<const double> b) {
  DOPPLER_CHECK(a.size() == b.size());
  double agreeing = 0.0, ordered_by_a = 0.0, ordered_by_b = 0.0;  // exact: whole numbers
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const int x = sign(a[i] - a[j]), y = sign(b[i] - b[j]);
      agreeing += x * y;
      ordered_by_a += x * x;
      ordered_by_b += y * y;
    }
  }
  if (ordered_by_a == 0.0 || ordered_by_b == 0.0) return std::nullopt;
  return agreeing / std::sqrt(ordered_by_a * ordered_by_b);
}

PairAgreement pair_agreement(std::span<const double> predicted, std::span<const double> measured,
                             double threshold) {
  DOPPLER_CHECK(predicted.size() == measured.size());
  PairAgreement found;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double difference = measured[i] - measured[j];
      if (!(std::abs(difference) > threshold * std::min(measured[i], measured[j]))) continue;
      ++found.pairs;
      found.agreeing += sign(difference) == sign(predicted[i] - predicted[j]) ? 1 : 0;
    }
  }
  return found;
}

}  // namespace doppler
