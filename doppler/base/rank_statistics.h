// How well one list of numbers orders things as another does.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace doppler {

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
