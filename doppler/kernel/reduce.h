// `reduce`: sum, largest or mean over the labels that the output lacks.
#pragma once

#include <cstdint>
#include <vector>

#include "doppler/kernel/call_reader.h"
#include "doppler/kernel/einsum_spec.h"
#include "doppler/kernel/kernel.h"

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

}  // namespace doppler::kernel
