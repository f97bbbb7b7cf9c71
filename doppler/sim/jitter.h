// Log-normal factors on costs that depend only on (seed, what is jittered), never on the order of
// events: two placements under one seed see the same factor on the same node.
#pragma once

#include <array>
#include <cstdint>

#include "doppler/base/rng.h"

namespace doppler::sim {

// exp(sigma x z) with z from 4096 equally likely quantiles of the standard normal: as good as the
// continuous law for means and 95th percentiles, and one table look-up per cost.
class JitterTable {
 public:
  explicit JitterTable(double sigma);

  double sigma() const { return sigma_; }
  double factor(std::uint64_t seed, std::uint64_t what) const {
    return factors_[mix64(seed ^ mix64(what)) >> (64 - kBits)];
  }

 private:
  static constexpr int kBits = 12;
  double sigma_;
  std::array<double, std::size_t{1} << kBits> factors_;
};

}  // namespace doppler::sim
