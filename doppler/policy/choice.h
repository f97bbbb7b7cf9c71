// Choosing among a few by their scores.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

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

// A choice by chances, from a number in [0, 1).
template <class T>
std::size_t draw(std::span<const T> chances, double uniform) {
  std::size_t last = 0;
  for (std::size_t d = 0; d < chances.size(); ++d) {
    if (chances[d] == T(0)) continue;
    last = d;
    uniform -= static_cast<double>(chances[d]);
    if (uniform < 0.0) break;
  }
  return last;
}

template <class T>
std::size_t most_likely(std::span<const T> chances) {
  return static_cast<std::size_t>(std::max_element(chances.begin(), chances.end()) -
                                  chances.begin());
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
