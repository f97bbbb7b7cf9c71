// What SEL and PLC prefer before they have learnt anything, added to the scores of the networks: a
// soft list scheduler that keeps siblings together. Training can unlearn it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace doppler::policy {

enum class Prior : std::uint8_t {
  kNone,
  kList,
};
std::string_view prior_name(Prior prior);
// Throws ParameterError that lists the known names.
Prior prior_named(std::string_view name);

// Weights of features where the prior is kList. The first two make a list scheduler; the third is
// larger than they need, since trainings without it find out late, or never, that siblings belong
// together.
inline constexpr double kPriorOfBLevel = 8.0;        // SEL: b-level over critical path
inline constexpr double kPriorOfLateEnd = -2.0;      // PLC: ends later than elsewhere
inline constexpr double kPriorOfSiblingsNear = 6.0;  // PLC

// The two layers of PLC that run at every step of every episode, forward and back.

// For choices among `devices`. Rows of features have kChoiceFeatures numbers, all others `width`.
template <class T>
struct ChoiceLayers {
  std::size_t devices, width;
  Prior prior;
  const T* weights;  // by feature
  const T* last;     // of the score

  // From features by device. `base` and `shares` (by device) are added to their part of the hidden
  // layer. Gives that layer and a score for each device.
  void score(const T* features, const T* base, const T* shares, T* hidden, T* scores) const;
  // What the derivatives by the scores imply: those by the hidden layer's argument are written,
  // those by `last`, `base` and `shares` added.
  void add_gradients(const T* hidden, const T* d_scores, T* d_hidden, T* d_last, T* d_base,
                     T* d_shares) const;
  // Adds the derivatives by the weights, of many choices at once: rows of features and d_hidden.
  void add_weight_gradients(std::size_t rows, const T* features, const T* d_hidden,
                            T* d_weights) const;
};

}  // namespace doppler::policy
