// Statistics of few values: middles and means that a few wild values do not move, and how far
// values lie from them. Pure functions; thread safe.
#pragma once

#include <cstddef>
#include <optional>
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

// How well one list of numbers orders things as another does.

// Spearman's rank correlation: that of the ranks, where equal numbers share the mean of theirs. 1
// for the same order, -1 for the opposite one. Nothing where all numbers of a list are equal or
// there are fewer than two. REQUIRES: lists of one length, without NaN.
std::optional<double> spearman(std::span<const double> a, std::span<const double> b);

// Kendall's tau-b: pairs in the same order less those in the opposite one, over the geometric mean
// of the numbers of pairs that each list orders at all. Nothing as above. Takes time quadratic in
// the length.
std::optional<double> kendall_tau_b(std::span<const double> a, std::span<const double> b);

struct PairAgreement {
  std::size_t pairs = 0;     // that were compared
  std::size_t agreeing = 0;  // in the same order; a pair that is equal in the prediction is not
};

// Over the pairs whose measurements differ by more than `threshold` times the smaller one.
// REQUIRES: as above, no negative measurement.
PairAgreement pair_agreement(std::span<const double> predicted, std::span<const double> measured,
                             double threshold);

}  // namespace doppler
