// Copies of tensors: plain copies of elements, and StridedCopy, which copies a tensor to another
// layout (transposed, broadcast, or as a part of a larger tensor).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "doppler/kernel/cpu/loop_nest.h"
#include "doppler/kernel/cpu/runnable.h"

namespace doppler::kernel::cpu {

// Copies elements at the speed of the caches and of memory, whatever their number. REQUIRES: the
// two do not overlap.
//
// This is not std::copy, since C libraries copy medium sizes by the processor's string instruction,
// which on some processors falls to a tenth of the speed if source and destination are at nearly
// the same offset in a page (between 64 KiB and 1 MiB with glibc 2.36 on AMD Zen 3).
void copy_elements(const float* from, float* to, std::size_t count);
void copy_elements(const double* from, double* to, std::size_t count);

// A copy between two layouts. Immutable, so several threads may run it at once.
class StridedCopy {
 public:
  // The first tensor of the nest is the target, whose strides are not 0, the second is the source.
  // REQUIRES: the innermost loop has the smallest stride in the target.
  explicit StridedCopy(const LoopNest<2>& nest);

  template <class T>
  void run(const T* source, T* target) const {
    if (!across_) {
      rows_.run([&](const auto& offsets, std::int64_t size, const auto& strides) {
        copy_row(source + offsets[1], strides[1], target + offsets[0], strides[0], size);
      });
      return;
    }
    // The source is contiguous along another loop than the target. Square tiles make sure that each
    // cache line that was read is used while it is in the cache.
    constexpr std::int64_t kTile = 16;
    // References, since lambdas of older compilers do not capture structured bindings.
    const auto& out = across_->out;
    const auto& in = across_->in;
    rows_.run([&](const auto& offsets, std::int64_t size, const auto& strides) {
      for (std::int64_t r = 0; r < size; ++r) {
        const T* from = source + offsets[1] + r * strides[1];
        T* to = target + offsets[0] + r * strides[0];
        for (std::int64_t i = 0; i < in.size; i += kTile) {
          const std::int64_t i_end = std::min(i + kTile, in.size);
          for (std::int64_t o = 0; o < out.size; o += kTile) {
            const std::int64_t o_end = std::min(o + kTile, out.size);
            for (std::int64_t y = i; y < i_end; ++y) {
              for (std::int64_t x = o; x < o_end; ++x) {
                to[y * in.strides[0] + x * out.strides[0]] =
                    from[y * in.strides[1] + x * out.strides[1]];
              }
            }
          }
        }
      }
    });
  }

 private:
  struct Across {
    LoopNest<2>::Loop out, in;  // the loops along which target and source are contiguous
  };

  template <class T>
  static void copy_row(const T* source, std::int64_t source_stride, T* target,
                       std::int64_t target_stride, std::int64_t size) {
    if (source_stride == 1 && target_stride == 1) {
      copy_elements(source, target, static_cast<std::size_t>(size));
    } else if (source_stride == 0 && target_stride == 1) {
      std::fill_n(target, size, *source);
    } else {
      for (std::int64_t i = 0; i < size; ++i) target[i * target_stride] = source[i * source_stride];
    }
  }

  LoopNest<2> rows_;
  std::optional<Across> across_;
};

}  // namespace doppler::kernel::cpu
