// Means and ratios with their 95 % intervals, from few samples.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>

namespace doppler::lab {

inline constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

struct Estimate {
  double value = kAbsent;
  double low = kAbsent, high = kAbsent;  // absent below two samples
  std::size_t samples = 0;

  bool present() const { return samples > 0; }
  bool has_interval() const { return samples > 1; }
};

// The 0.975 quantile of Student's t distribution. REQUIRES: at least one degree of freedom.
double student_t(std::size_t degrees);

// The mean with its interval by Student's t. Without samples: absent.
Estimate mean_of(std::span<const double> samples);
// The geometric mean, by the logarithms. REQUIRES: positive samples.
Estimate geometric_mean_of(std::span<const double> samples);

// The slope of log y over log x by least squares: 1 where y grows in proportion to x. Absent below
// three points. REQUIRES: lists of one length, positive.
Estimate growth_exponent(std::span<const double> x, std::span<const double> y);

// "219.7 ± 1.1": four digits, the interval's half width where there is one that shows; "-" where
// absent. `factor` changes units.
std::string text_of(const Estimate& estimate, double factor = 1.0);
// The same for ratios, with the interval's ends: "0.97 (0.95 to 0.99)".
std::string ratio_text(const Estimate& ratio);
// Four digits.
std::string number_text(double value);

}  // namespace doppler::lab
