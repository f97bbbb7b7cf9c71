// `reduce`: sum, largest or mean over the labels that the output lacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "doppler/kernel/call_reader.h"
#include "doppler/kernel/contract.h"
#include "doppler/kernel/registry.h"

namespace doppler::kernel {

enum class ReduceOp : std::uint8_t { kSum, kMax, kMean };

struct Reduce {
  ReduceOp op;
  EinsumSpec spec;  // one input, which has every output label
  std::vector<Shape> outputs;
};
// Sums over no elements are 0; the largest and the mean of none are refused.
Reduce parse_reduce(CallReader& reader);

std::vector<Kernel> reduce_kernels();

// Kernels on rectangular parts of a tensor: `slice` takes one out, `pad` puts one into zeros (the
// transpose of slice), `concat` puts tensors side by side.

// `slice` and `pad`: the smaller tensor lies in the larger one, `begin` elements from its corner.
struct Window {
  Shape begin;
  std::vector<Shape> outputs;
};
Window parse_slice(CallReader& reader);
Window parse_pad(CallReader& reader);

struct Concat {
  std::size_t dim;
  std::vector<Shape> outputs;
};
Concat parse_concat(CallReader& reader);

std::vector<Kernel> window_kernels();

}  // namespace doppler::kernel
