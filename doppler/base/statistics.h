// Statistics of few values: middles and means that a few wild values do not move, and how far
// values lie from them. Pure functions; thread safe.
#pragma once

#include <span>
#include <vector>

namespace doppler {

// Of an even number of values, the mean of the two in the middle. REQUIRES: there is a value.
double median(std::vector<double> values);

// The mean of the middle half, and of at least one: sums of it come out nearly right where values
// are skewed, which sums of medians do not, and a quarter may be wild. REQUIRES: there is a value.
double middle_mean(std::vector<double> values);

// The mean without the tenth of the values at either end, and without at least one of three or
// more: sums of it come out right, which sums of medians do not where something is at times much
// slower. REQUIRES: there is a value.
double trimmed_mean(std::vector<double> values);

// REQUIRES: there is a value, and all are positive.
double geometric_mean(std::span<const double> values);

// The median distance from the median, scaled so that it is the standard deviation where values are
// normal (1 / 0.6745, the third quartile of a standard normal). REQUIRES: there is a value.
double robust_deviation(std::vector<double> values);

// The standard error of the median of so many normal values is that of their mean times this, in
// the limit: the square root of pi / 2.
inline constexpr double kMedianError = 1.2533;

// What two measurements of the same thing differ by: the medians of the odd and of the even ones,
// as a share of the median of all. REQUIRES: two values or more.
double noise_of(const std::vector<double>& values);

}  // namespace doppler
