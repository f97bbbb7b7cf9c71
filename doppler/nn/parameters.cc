#include "doppler/nn/parameters.h"

#include <algorithm>
#include <utility>

#include "doppler/base/error.h"

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

}  // namespace doppler::nn
