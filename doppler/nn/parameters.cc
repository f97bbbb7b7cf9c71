#include "doppler/nn/parameters.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/nn/matrix.h"

namespace doppler::nn {

std::size_t ParameterTable::add(std::string name, std::size_t rows, std::size_t columns,
                                double spread) {
  DOPPLER_CHECK(std::none_of(blocks_.begin(), blocks_.end(),
                             [&](const ParameterBlock& block) { return block.name == name; }));
  blocks_.push_back({.name = std::move(name),
                     .rows = rows,
                     .columns = columns,
                     .offset = size_,
                     .spread = spread});
  size_ += rows * columns;
  return blocks_.size() - 1;
}

std::vector<float> ParameterTable::random_values(Rng& rng) const {
  std::vector<float> values;
  values.reserve(size_);
  for (const ParameterBlock& block : blocks_) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      values.push_back(block.spread == 0.0 ? 0.0f
                                           : static_cast<float>(block.spread * rng.normal()));
    }
  }
  return values;
}

namespace {

constexpr double kMeanDecay = 0.9, kSquareDecay = 0.999, kSmall = 1e-8;

DOPPLER_WIDE_CLONES
void step_numbers(std::size_t count, const float* __restrict gradients, double rate,
                  double mean_scale, double square_scale, float* __restrict means,
                  float* __restrict squares, float* __restrict parameters) {
  for (std::size_t i = 0; i < count; ++i) {
    const double gradient = gradients[i];
    const double mean = kMeanDecay * means[i] + (1.0 - kMeanDecay) * gradient;
    const double square = kSquareDecay * squares[i] + (1.0 - kSquareDecay) * gradient * gradient;
    means[i] = static_cast<float>(mean);
    squares[i] = static_cast<float>(square);
    parameters[i] -=
        static_cast<float>(rate * mean * mean_scale / (std::sqrt(square * square_scale) + kSmall));
  }
}

}  // namespace

void Adam::step(std::span<float> parameters, std::span<const float> gradients, double rate) {
  DOPPLER_CHECK(parameters.size() == state_.mean.size() && gradients.size() == state_.mean.size());
  ++state_.steps;
  const auto steps = static_cast<double>(state_.steps);
  step_numbers(parameters.size(), gradients.data(), rate, 1.0 / (1.0 - std::pow(kMeanDecay, steps)),
               1.0 / (1.0 - std::pow(kSquareDecay, steps)), state_.mean.data(),
               state_.square.data(), parameters.data());
}

double clip_length(std::span<float> gradients, double longest) {
  double square = 0.0;
  for (const float gradient : gradients) square += static_cast<double>(gradient) * gradient;
  const double length = std::sqrt(square);
  if (length > longest) {
    const auto scale = static_cast<float>(longest / length);
    for (float& gradient : gradients) gradient *= scale;
  }
  return length;
}

}  // namespace doppler::nn
