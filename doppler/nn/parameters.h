// The parameters of a network, as named blocks in one flat array, and Adam, which improves them.
// Optimisers, files and threads that add up gradients see the flat array only and need not know the
// layers. Nothing here is thread safe unless it is const.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "doppler/base/rng.h"

namespace doppler::nn {

// One matrix of parameters.
struct ParameterBlock {
  std::string name;
  std::size_t rows = 0, columns = 0;
  std::size_t offset = 0;  // where it begins in the flat array; row after row from there
  double spread = 0.0;     // standard deviation of the initial values

  std::size_t size() const { return rows * columns; }
};

// The layout of the flat array.
class ParameterTable {
 public:
  // Adds a block behind the others and returns its position among the blocks. REQUIRES: no other
  // block has this name.
  std::size_t add(std::string name, std::size_t rows, std::size_t columns, double spread);

  const ParameterBlock& block(std::size_t i) const { return blocks_[i]; }
  std::span<const ParameterBlock> blocks() const { return blocks_; }
  // Returns the number of parameters of all blocks.
  std::size_t size() const { return size_; }

  // Returns initial values: normally distributed with each block's spread.
  std::vector<float> random_values(Rng& rng) const;

 private:
  std::vector<ParameterBlock> blocks_;
  std::size_t size_ = 0;
};

// Everything that a step of Adam depends on besides parameters and gradients, for checkpoints.
struct AdamState {
  std::vector<float> mean, square;  // by parameter: running means of gradients and their squares
  std::uint64_t steps = 0;

  friend bool operator==(const AdamState&, const AdamState&) = default;
};

// Adam (Kingma and Ba, 2015): gradient descent with steps that are scaled by running moments.
class Adam {
 public:
  // Starts for so many parameters.
  explicit Adam(std::size_t parameters)
      : state_{.mean = std::vector<float>(parameters, 0.0f),
               .square = std::vector<float>(parameters, 0.0f)} {}
  // Goes on from a checkpoint.
  explicit Adam(AdamState state) : state_(std::move(state)) {}

  // Moves the parameters against the gradients. REQUIRES: both are as long as the state.
  void step(std::span<float> parameters, std::span<const float> gradients, double rate);
  const AdamState& state() const { return state_; }

 private:
  AdamState state_;
};

// Scales the gradients down to the Euclidean length `longest` if they are longer. Returns the
// length that they had.
double clip_length(std::span<float> gradients, double longest);

}  // namespace doppler::nn
