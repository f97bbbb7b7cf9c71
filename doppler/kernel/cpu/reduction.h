// Reduction, sums or maxima of a tensor along some of its labels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "doppler/kernel/cpu/functions.h"
#include "doppler/kernel/cpu/loop_nest.h"

namespace doppler::kernel::cpu {

// A reduction of a tensor with the labels `source` to one with the labels `target`, which are some
// of them. Reads the source in the order of its elements. Immutable, so several threads may run it
// at once.
class Reduction {
 public:
  enum class Op : std::uint8_t { kSum, kMax };

  Reduction(Op op, std::string_view source, std::string_view target, const LabelSizes& sizes)
      : op_(op) {
    nest_.add(source, {target, source}, sizes);
    for (const char label : target) target_count_ *= sizes[label];
  }

  // Overwrites the target. The sum of no elements is 0, their maximum minus infinity.
  template <class T>
  void run(const T* source, T* target) const {
    if (op_ == Op::kSum) {
      std::fill_n(target, target_count_, T{0});
      fold(
          source, target, [](T a, T b) { return a + b; }, T{0});
    } else {
      const T least = -std::numeric_limits<T>::infinity();
      std::fill_n(target, target_count_, least);
      fold(
          source, target, [](T a, T b) { return larger(a, b); }, least);
    }
  }

 private:
  template <class T, class Combine>
  void fold(const T* source, T* target, const Combine& combine, T start) const {
    nest_.run([&](const auto& offsets, std::int64_t size, const auto& strides) {
      const T* from = source + offsets[1];
      T* to = target + offsets[0];
      if (strides[0] == 0) {
        *to = combine(*to, fold_row(from, strides[1], size, combine, start));
      } else if (strides[0] == 1 && strides[1] == 1) {
        for (std::int64_t i = 0; i < size; ++i) to[i] = combine(to[i], from[i]);
      } else {
        for (std::int64_t i = 0; i < size; ++i) {
          to[i * strides[0]] = combine(to[i * strides[0]], from[i * strides[1]]);
        }
      }
    });
  }

  // Returns the combination of a row. Long rows are halved, so that the error of a float sum grows
  // only with the logarithm of its length. Short rows have several partial results, so that their
  // speed does not depend on the latency of an addition.
  template <class T, class Combine>
  static T fold_row(const T* row, std::int64_t stride, std::int64_t size, const Combine& combine,
                    T start) {
    constexpr std::int64_t kShort = 512, kLanes = 8;
    if (size > kShort) {
      const std::int64_t half = size / 2;
      return combine(fold_row(row, stride, half, combine, start),
                     fold_row(row + half * stride, stride, size - half, combine, start));
    }
    T lanes[kLanes];
    std::fill_n(lanes, kLanes, start);
    std::int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = combine(lanes[lane], row[(i + lane) * stride]);
      }
    }
    for (; i < size; ++i) lanes[0] = combine(lanes[0], row[i * stride]);
    for (std::int64_t lane = 1; lane < kLanes; ++lane) lanes[0] = combine(lanes[0], lanes[lane]);
    return lanes[0];
  }

  Op op_;
  LoopNest<2> nest_;
  std::int64_t target_count_ = 1;
};

}  // namespace doppler::kernel::cpu
