// Choosing one of several by scores: probabilities, drawing from them, and the logarithm of the
// probability of many choices. All functions are thread safe with an Rng for each thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "doppler/base/rng.h"

namespace doppler::policy {

// Describes how choices are drawn from the probabilities p of a policy.
struct SamplingSettings {
  // Choices are drawn in proportion to p ^ (1 / temperature). At 1 that is the policy itself; at 0
  // it is the likeliest choice.
  double node_temperature = 1.0, device_temperature = 1.0;
  // The probability with which a choice is drawn uniformly from all that are possible instead.
  double exploration = 0.0;

  static const SamplingSettings kSample;  // as the policy has it
  static const SamplingSettings kGreedy;  // always the likeliest choice
};
inline constexpr SamplingSettings SamplingSettings::kSample{};
inline constexpr SamplingSettings SamplingSettings::kGreedy{.node_temperature = 0.0,
                                                            .device_temperature = 0.0};

// Writes the probabilities exp(score) / sum of exp(score) over the allowed, and 0 for the others,
// to `chances`. REQUIRES: at least one is allowed.
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

// Returns the position of a choice that is drawn as SamplingSettings says. What has chance 0 is
// never drawn. REQUIRES: the chances sum to 1.
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

// The logarithm of a product of many probabilities, found with few calls of log().
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
