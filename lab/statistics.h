// Means and ratios of few samples with their 95 % intervals, and how they are written. Pure
// functions, so safe to call from several threads.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>

namespace doppler::lab {

inline constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

// A value with its interval.
struct Estimate {
  double value = kAbsent;
  double low = kAbsent, high = kAbsent;  // absent with fewer than two samples
  std::size_t samples = 0;

  bool present() const { return samples > 0; }
  bool has_interval() const { return samples > 1; }
};

// Returns the 0.975 quantile of Student's t distribution. REQUIRES: at least one degree of freedom.
double student_t(std::size_t degrees);

// Returns the mean with its interval by Student's t; absent if there are no samples.
Estimate mean_of(std::span<const double> samples);
// Returns the geometric mean with its interval, computed on logarithms. REQUIRES: positive samples.
Estimate geometric_mean_of(std::span<const double> samples);

// Returns the slope of log y over log x by least squares, which is 1 if y grows in proportion to x;
// absent with fewer than three points. REQUIRES: lists of one length, of positive numbers.
Estimate growth_exponent(std::span<const double> x, std::span<const double> y);

// Returns "219.7 ± 1.1": four digits, and half the width of the interval if it is not too small to
// show; "-" if the estimate is absent. It is multiplied by `factor`, to change units.
std::string text_of(const Estimate& estimate, double factor = 1.0);
// Returns a ratio with the ends of its interval: "0.97 (0.95 to 0.99)".
std::string ratio_text(const Estimate& ratio);
// Returns the number with four digits.
std::string number_text(double value);

}  // namespace doppler::lab
