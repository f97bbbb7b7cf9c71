// Choosing among a few by their scores.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "doppler/base/rng.h"

namespace doppler::policy {

// Chances of what may be chosen, from scores; at least one may.
template <class T>
void softmax(std::span<const T> scores, std::span<const std::uint8_t> allowed, T* chances) {
  T largest = -std::numeric_limits<T>::infinity();
  for (std::size_t d = 0; d < scores.size(); ++d) {
    if (allowed[d]) largest = std::max(largest, scores[d]);
  }
  T sum = T(0);
  for (std::size_t d = 0; d < scores.size(); ++d) {
    chances[d] = allowed[d] ? std::exp(scores[d] - largest) : T(0);
    sum += chances[d];
  }
  for (std::size_t d = 0; d < scores.size(); ++d) chances[d] /= sum;
}

// How choices are made: with chances to the power of 1 / temperature, or the likeliest at 0; now
// and then, where it explores, any with the same chance.
struct Decoding {
  double selecting = 1.0, placing = 1.0;  // temperatures of the choice of nodes and of devices
  double exploration = 0.0;               // share of choices

  static const Decoding kSample, kGreedy;
};
inline constexpr Decoding Decoding::kSample{}, Decoding::kGreedy{.selecting = 0.0, .placing = 0.0};

template <class T>
std::size_t choose(std::span<const T> chances, double temperature, double exploration, Rng& rng) {
  if (exploration > 0.0 && rng.chance(exploration)) {
    std::size_t left = rng.below(static_cast<std::uint32_t>(
        std::count_if(chances.begin(), chances.end(), [](T chance) { return chance > T(0); })));
    std::size_t d = 0;
    while (chances[d] == T(0) || left-- > 0) ++d;
    return d;
  }
  if (temperature == 0.0) {
    return static_cast<std::size_t>(std::max_element(chances.begin(), chances.end()) -
                                    chances.begin());
  }
  const auto weight = [&](T chance) {
    return temperature == 1.0 ? static_cast<double>(chance)
                              : std::pow(static_cast<double>(chance), 1.0 / temperature);
  };
  double sum = 1.0;
  if (temperature != 1.0) {
    sum = 0.0;
    for (const T chance : chances) sum += weight(chance);
  }
  double left = sum * rng.uniform();
  std::size_t last = 0;
  for (std::size_t d = 0; d < chances.size(); ++d) {
    if (chances[d] == T(0)) continue;
    last = d;
    left -= weight(chances[d]);
    if (left < 0.0) break;
  }
  return last;
}

// The logarithm of a product of many chances, with few calls of log.
class LogOfProduct {
 public:
  void times(double chance) {
    product_ *= chance;
    if (product_ > 1e-200) return;
    sum_ += std::log(product_);
    product_ = 1.0;
  }
  double log() const { return sum_ + std::log(product_); }

 private:
  double product_ = 1.0, sum_ = 0.0;
};

}  // namespace doppler::policy
