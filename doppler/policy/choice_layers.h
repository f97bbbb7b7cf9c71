// The two layers of PLC that run at every step of every episode, forward and back: where the time
// of training goes. Written so that compilers keep blocks of the hidden layer in registers; sums
// are taken in the same order with any instruction set.
#pragma once

#include <cstddef>

namespace doppler::policy {

// One choice among devices. Rows of `features` have kChoiceFeatures numbers, all others `width`.
template <class T>
struct ChoiceLayers {
  std::size_t devices, width;
  const float* features;  // by device
  const T* weights;       // by feature
  const T* last;          // of the score
  T* hidden;              // by device: what the layer gives

  // `base` and `shares` (by device) are added to the features' part; a score for each device.
  void score(const T* base, const T* shares, T* scores) const;
  // Adds the derivatives by everything that `d_scores` implies. Uses `d_hidden` (by device).
  void add_gradients(const T* d_scores, T* d_hidden, T* d_weights, T* d_last, T* d_base,
                     T* d_shares) const;
};

}  // namespace doppler::policy
