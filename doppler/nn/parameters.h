// The parameters of a network: named blocks in one flat array, so that optimisers, files and
// threads that add up gradients need not know the layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "doppler/base/rng.h"

namespace doppler::nn {

struct ParameterBlock {
  std::string name;
  std::size_t rows = 0, columns = 0;
  std::size_t offset = 0;  // in the flat array; row after row from there
  // Standard deviation of the values to begin with.
  double spread = 0.0;

  std::size_t size() const { return rows * columns; }
};

class ParameterTable {
 public:
  // The position of the new block among all. REQUIRES: no other has this name.
  std::size_t add(std::string name, std::size_t rows, std::size_t columns, double spread);

  const ParameterBlock& block(std::size_t i) const { return blocks_[i]; }
  std::span<const ParameterBlock> blocks() const { return blocks_; }
  std::size_t size() const { return size_; }  // of the flat array

  std::vector<float> random_values(Rng& rng) const;

 private:
  std::vector<ParameterBlock> blocks_;
  std::size_t size_ = 0;
};

// Adam (Kingma and Ba, 2015): gradient descent with steps scaled by running moments.

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
