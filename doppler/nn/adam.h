// Adam (Kingma and Ba, 2015): gradient descent with steps scaled by running moments.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace doppler::nn {

// Everything that a step depends on besides parameters and gradients, for checkpoints.
struct AdamState {
  std::vector<float> mean, square;  // by parameter
  std::uint64_t steps = 0;

  friend bool operator==(const AdamState&, const AdamState&) = default;
};

class Adam {
 public:
  explicit Adam(std::size_t parameters)
      : state_{.mean = std::vector<float>(parameters, 0.0f),
               .square = std::vector<float>(parameters, 0.0f)} {}
  explicit Adam(AdamState state) : state_(std::move(state)) {}

  void step(std::span<float> parameters, std::span<const float> gradients, double rate);
  const AdamState& state() const { return state_; }

 private:
  AdamState state_;
};

// Scales the gradients down to this Euclidean length where they are longer; what it was.
double clip_length(std::span<float> gradients, double longest);

}  // namespace doppler::nn
