// LoopNest, loops over several strided tensors at once: the common part of kernels that broadcast,
// permute and reduce.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "doppler/kernel/einsum.h"

namespace doppler::kernel::cpu {

// Nested loops over K tensors. Immutable once filled, so several threads may run it at once.
template <std::size_t K>
class LoopNest {
 public:
  using Strides = std::array<std::int64_t, K>;  // in elements, of each tensor
  struct Loop {
    std::int64_t size;
    Strides strides;
  };

  // Adds a loop inside those added before. A loop of size 1 is left out. A loop is merged with the
  // one around it if, in every tensor, a step of the outer one is as far as the whole inner one.
  void add(std::int64_t size, const Strides& strides) {
    empty_ |= size == 0;
    if (size == 1) return;
    if (!loops_.empty() && continues(loops_.back(), size, strides)) {
      loops_.back() = {loops_.back().size * size, strides};
    } else {
      loops_.push_back({size, strides});
    }
  }
  // Adds a loop for each of `labels`, outermost first. `operands` are the labels of each tensor.
  void add(std::string_view labels, const std::array<std::string_view, K>& operands,
           const LabelSizes& sizes) {
    std::array<std::vector<std::int64_t>, K> along;
    for (std::size_t k = 0; k < K; ++k) along[k] = strides_along(labels, operands[k], sizes);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      Strides strides;
      for (std::size_t k = 0; k < K; ++k) strides[k] = along[k][i];
      add(sizes[labels[i]], strides);
    }
  }

  std::span<const Loop> loops() const { return loops_; }
  bool empty() const { return empty_; }  // whether some loop has no iterations

  // Calls inner(offsets, size, strides) for each run of the innermost loop: `offsets` are those of
  // its first element in each tensor. A nest without loops is one run of size 1.
  template <class Inner>
  void run(const Inner& inner) const {
    if (empty_) return;
    Strides offsets{};
    if (loops_.empty()) {
      inner(offsets, std::int64_t{1}, Strides{});
    } else {
      step(0, offsets, inner);
    }
  }

 private:
  static bool continues(const Loop& outer, std::int64_t size, const Strides& strides) {
    for (std::size_t k = 0; k < K; ++k) {
      if (outer.strides[k] != size * strides[k]) return false;
    }
    return true;
  }

  template <class Inner>
  void step(std::size_t depth, Strides offsets, const Inner& inner) const {
    const Loop& loop = loops_[depth];
    if (depth + 1 == loops_.size()) {
      inner(offsets, loop.size, loop.strides);
      return;
    }
    for (std::int64_t i = 0; i < loop.size; ++i) {
      step(depth + 1, offsets, inner);
      for (std::size_t k = 0; k < K; ++k) offsets[k] += loop.strides[k];
    }
  }

  std::vector<Loop> loops_;
  bool empty_ = false;
};

}  // namespace doppler::kernel::cpu
