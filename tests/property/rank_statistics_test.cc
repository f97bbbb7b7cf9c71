// Rank statistics against their definitions, written out.
#include "doppler/base/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "doppler/base/rng.h"

namespace doppler {
namespace {

// Whole numbers from a few: many are equal.
std::vector<double> random_list(std::size_t length, std::uint32_t most, Rng& rng) {
  std::vector<double> list(length);
  for (double& value : list) value = rng.below(most);
  return list;
}

// One more than the smaller ones, and half of the equal others.
double rank_of(const std::vector<double>& list, std::size_t i) {
  double rank = 0.5;
  for (const double other : list) rank += other < list[i] ? 1.0 : other == list[i] ? 0.5 : 0.0;
  return rank;
}

double spearman_by_definition(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = rank_of(a, i), y = rank_of(b, i);
    sa += x, sb += y, saa += x * x, sbb += y * y, sab += x * y;
  }
  return (n * sab - sa * sb) / std::sqrt((n * saa - sa * sa) * (n * sbb - sb * sb));
}

// tau-b = (concordant - discordant) / sqrt((all - equal in a) (all - equal in b)).
double kendall_by_definition(const std::vector<double>& a, const std::vector<double>& b) {
  double concordant = 0, discordant = 0, all = 0, equal_a = 0, equal_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = i + 1; j < a.size(); ++j) {
      ++all;
      if (a[i] == a[j]) ++equal_a;
      if (b[i] == b[j]) ++equal_b;
      if (a[i] == a[j] || b[i] == b[j]) continue;
      ++((a[i] < a[j]) == (b[i] < b[j]) ? concordant : discordant);
    }
  }
  return (concordant - discordant) / std::sqrt((all - equal_a) * (all - equal_b));
}

TEST(RankStatisticsProperty, AgreeWithTheirDefinitions) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const std::size_t length = 2 + rng.below(30);
    const std::uint32_t most = 1 + rng.below(40);
    const std::vector<double> a = random_list(length, most, rng);
    const std::vector<double> b = random_list(length, most, rng);
    const auto rho = spearman(a, b), tau = kendall_tau_b(a, b);
    ASSERT_EQ(rho.has_value(), tau.has_value());
    if (!rho) continue;
    EXPECT_NEAR(*rho, spearman_by_definition(a, b), 1e-12);
    EXPECT_NEAR(*tau, kendall_by_definition(a, b), 1e-12);
    // Only the order counts, and which list comes first does not.
    std::vector<double> stretched;
    for (const double value : a) stretched.push_back(std::exp(value));
    EXPECT_EQ(spearman(stretched, b), rho);
    EXPECT_EQ(kendall_tau_b(stretched, b), tau);
    EXPECT_NEAR(*spearman(b, a), *rho, 1e-15);
    EXPECT_EQ(kendall_tau_b(b, a), tau);
    // Every pair that is ordered is compared where nothing need differ by much.
    const PairAgreement pairs = pair_agreement(a, b, 0.0);
    EXPECT_LE(pairs.agreeing, pairs.pairs);
    EXPECT_EQ(pair_agreement(b, b, 0.0).agreeing, pair_agreement(b, b, 0.0).pairs);
  }
}

}  // namespace
}  // namespace doppler
