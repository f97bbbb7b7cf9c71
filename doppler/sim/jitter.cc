#include "doppler/sim/jitter.h"

#include <cmath>

namespace doppler::sim {
namespace {

// The inverse of the standard normal distribution function, by bisection on erfc: slow, exact to
// rounding, and used only to fill a table.
double normal_quantile(double probability) {
  double low = -9.0, high = 9.0;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < probability ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

JitterTable::JitterTable(double sigma) : sigma_(sigma) {
  for (std::size_t i = 0; i < factors_.size(); ++i) {
    const double probability =
        (static_cast<double>(i) + 0.5) / static_cast<double>(factors_.size());
    factors_[i] = std::exp(sigma * normal_quantile(probability));
  }
}

}  // namespace doppler::sim
