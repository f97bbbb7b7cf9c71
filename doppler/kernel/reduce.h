// The kernel `reduce`: the sum, maximum or mean over the labels that the output lacks. The
// functions are safe to call from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "doppler/kernel/contract.h"
#include "doppler/kernel/kernel_call.h"
#include "doppler/kernel/registry.h"

namespace doppler::kernel {

enum class ReduceOp : std::uint8_t { kSum, kMax, kMean };

struct Reduce {
  ReduceOp op;
  EinsumSpec spec;  // one input, which has every output label
  std::vector<Shape> outputs;
};
// Reads a call of `reduce`. Throws InputError if it is ill-formed, or takes the maximum or mean of
// no elements (the sum of none is 0).
Reduce parse_reduce(CallReader& reader);

std::vector<Kernel> reduce_kernels();

}  // namespace doppler::kernel
