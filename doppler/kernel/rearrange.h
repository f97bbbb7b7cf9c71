// Kernels that only move elements: `permute`, `broadcast`, and `fill`, which makes them.
#pragma once

#include <string_view>
#include <vector>

#include "doppler/kernel/call_reader.h"
#include "doppler/kernel/einsum_spec.h"
#include "doppler/kernel/kernel.h"

namespace doppler::kernel {

// `permute` and `broadcast`.
struct Rearrange {
  EinsumSpec spec;  // one input, all of whose labels are in the output; sizes of all labels
  std::vector<Shape> outputs;
};
bool is_rearrange(std::string_view kernel);
Rearrange parse_rearrange(CallReader& reader);

struct Fill {
  double value;
  std::vector<Shape> outputs;
};
Fill parse_fill(CallReader& reader);

std::vector<Kernel> rearrange_kernels();

}  // namespace doppler::kernel
