// The parameters of a network: named blocks in one flat array, so that optimisers, files and
// threads that add up gradients need not know the layers.
#pragma once

#include <cstddef>
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

}  // namespace doppler::nn
