#include "doppler/base/rank_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "doppler/base/error.h"

namespace doppler {
namespace {

// Less the mean rank, so that they add up to 0.
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
