// Statistics of few values: medians and means that a few wild values do not move, deviations from
// them, and measures of how well one list of numbers orders things as another does. Pure functions,
// so safe to call from several threads.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace doppler {

// Returns the median: of an even number of values, the mean of the two in the middle. REQUIRES:
// there is a value.
double median(std::vector<double> values);

// Returns the mean of the middle half of the values, of at least one. A quarter of the values at
// either end may be wild, and unlike medians, such means add up nearly right where values are
// skewed. REQUIRES: there is a value.
double middle_mean(std::vector<double> values);

// Returns the mean without a tenth of the values at either end (of three or more values, without at
// least one). Unlike medians, such means add up right where something is at times much slower.
// REQUIRES: there is a value.
double trimmed_mean(std::vector<double> values);

// Returns the geometric mean: 0 if a value is 0. REQUIRES: there is a value, and none is negative.
double geometric_mean(std::span<const double> values);

// Returns the median distance from the median, scaled so that it is the standard deviation of
// normal values (by 1 / 0.6745, where 0.6745 is the third quartile of a standard normal).
// REQUIRES: there is a value.
double robust_deviation(std::vector<double> values);

// The ratio of the standard error of the median of many normal values to that of their mean: the
// square root of pi / 2.
inline constexpr double kMedianError = 1.2533;

// Returns an estimate of how far two measurements of the same thing differ: the difference between
// the medians of every second value and of the others, as a share of the median of all. REQUIRES:
// two values or more.
double noise_of(const std::vector<double>& values);

// --- agreement of two orders ---

// Returns Spearman's rank correlation, where equal numbers share the mean of their ranks: 1 for the
// same order, -1 for the opposite one. Returns nothing if all numbers of a list are equal or there
// are fewer than two. REQUIRES: lists of one length, without NaN.
std::optional<double> spearman(std::span<const double> a, std::span<const double> b);

// Returns Kendall's tau-b: the pairs in the same order minus those in the opposite one, divided by
// the geometric mean of the numbers of pairs that each list orders at all. Returns nothing if a
// list orders no pair. Takes time quadratic in the length. REQUIRES: lists of one length, without
// NaN.
std::optional<double> kendall_tau_b(std::span<const double> a, std::span<const double> b);

struct PairAgreement {
  std::size_t pairs = 0;     // pairs that were compared
  std::size_t agreeing = 0;  // pairs in the same order; not those whose predictions are equal
};

// Counts over the pairs whose measurements differ by more than `threshold` times the smaller one.
// REQUIRES: lists of one length, without NaN, and no negative measurement.
PairAgreement pair_agreement(std::span<const double> predicted, std::span<const double> measured,
                             double threshold);

}  // namespace doppler
