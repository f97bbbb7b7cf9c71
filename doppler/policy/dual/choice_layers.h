// The two layers of PLC that run at every step of every episode, forward and back.
#pragma once

#include <cstddef>

#include "doppler/policy/dual/prior.h"

namespace doppler::policy {

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
